#include "data/loading/source_choice.h"

#include <fmt/core.h>

#include <vector>

#include "base/statistics.h"
#include "config/facts/estimate.h"

namespace esper::data {
namespace {

constexpr std::int64_t kFreeShare = 4;
constexpr std::int64_t kLeastBatches = 10'000;  // with 50 us saved on each, a measurement has repaid itself
constexpr int kRounds = 3;
constexpr double kMostOfResident = 0.9;  // what is less may be noise

std::string sizes_text(const SourceFacts& facts) {
  return fmt::format("the data set takes {} of {} that are free", config::bytes_text(facts.resident_bytes),
                     config::bytes_text(facts.free_bytes));
}

std::string times_text(Beside beside, const SourceTimes& times) {
  const auto& [resident_us, copied_us] = times;
  if (beside == Beside::kForward) {
    return fmt::format("; during a forward {:.0f} us, copied {:.0f} us", resident_us, copied_us);
  }
  return fmt::format("a batch from the data on the device takes {:.0f} us, a copied one {:.0f} us", resident_us,
                     copied_us);
}

bool copies_save_enough(const SourceTimes& times) { return times.copied_us < kMostOfResident * times.resident_us; }

}  // namespace

bool fits(const SourceFacts& facts) { return facts.resident_bytes < facts.free_bytes / kFreeShare; }

SourceChoice choose_source(const SourceFacts& facts, const MeasureSources& measure) {
  const std::string sizes = sizes_text(facts);
  if (!fits(facts)) return {Source::kThreads, sizes + ", and may take a quarter"};
  if (facts.batches < kLeastBatches) {
    return {Source::kResident, fmt::format("{} batches are too few to measure the ways; {}", facts.batches, sizes)};
  }
  std::string figures;
  for (const Beside beside : {Beside::kNothing, Beside::kForward}) {
    const auto times = measure(beside);
    if (!times) return {Source::kResident, "the measurement of the ways was stopped; " + sizes};
    figures += times_text(beside, *times);
    if (!copies_save_enough(*times)) {
      return {Source::kResident, fmt::format("{}, which does not save a tenth; {}", figures, sizes)};
    }
  }
  return {Source::kThreads, fmt::format("{}; {}", figures, sizes)};
}

std::optional<SourceTimes> time_sources(const BatchTimer& resident, const BatchTimer& copied,
                                        const base::Clock& clock) {
  if (!resident() || !copied()) return std::nullopt;
  const auto begin = clock.now();
  std::vector<double> of_resident, of_copied;
  for (int round = 0; round < kRounds && (round == 0 || clock.now() - begin < kMostMeasured); ++round) {
    const auto resident_us = resident();
    const auto copied_us = resident_us ? copied() : std::nullopt;
    if (!copied_us) return std::nullopt;
    of_resident.push_back(*resident_us);
    of_copied.push_back(*copied_us);
  }
  return SourceTimes{base::median(std::move(of_resident)), base::median(std::move(of_copied))};
}

}  // namespace esper::data
