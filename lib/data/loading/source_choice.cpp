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

std::string sizes_text(const SourceFacts& facts) {
  return fmt::format("the data set takes {} of {} that are free", config::bytes_text(facts.resident_bytes),
                     config::bytes_text(facts.free_bytes));
}

}  // namespace

bool fits(const SourceFacts& facts) { return facts.resident_bytes < facts.free_bytes / kFreeShare; }

SourceChoice choose_source(const SourceFacts& facts, const std::function<std::optional<SourceTimes>()>& measure) {
  const std::string sizes = sizes_text(facts);
  if (!fits(facts)) return {Source::kThreads, sizes + ", and may take a quarter"};
  if (facts.batches < kLeastBatches) {
    return {Source::kResident, fmt::format("{} batches are too few to measure the ways; {}", facts.batches, sizes)};
  }
  const auto times = measure();
  if (!times) return {Source::kResident, "the measurement of the ways was stopped; " + sizes};
  return {times->copied_us < times->resident_us ? Source::kThreads : Source::kResident,
          fmt::format("data on the device: {:.0f} us a batch and its forward, copied: {:.0f} us; {}",
                      times->resident_us, times->copied_us, sizes)};
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
