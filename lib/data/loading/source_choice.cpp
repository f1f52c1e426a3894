#include "data/loading/source_choice.h"

#include <fmt/core.h>

#include <vector>

#include "base/statistics.h"
#include "config/facts/estimate.h"
#include "device/cuda_table.h"

namespace esper::data {
namespace {

constexpr std::int64_t kFreeShare = 4;
constexpr std::int64_t kLeastBatches = 10'000;  // with 50 us saved on each, a measurement has repaid itself
constexpr int kRounds = 3;
constexpr int kBatchesOfRound = 10;
constexpr base::Duration kMostOfRound = std::chrono::milliseconds(40);

std::string sizes_text(const SourceFacts& facts) {
  return fmt::format("the data set takes {} of {} that are free", config::bytes_text(facts.resident_bytes),
                     config::bytes_text(facts.free_bytes));
}

// The first round is left out where there are others.
double median_after_first(std::vector<double> rounds) {
  if (rounds.size() > 1) rounds.erase(rounds.begin());
  return base::median(std::move(rounds));
}

void wait_for(torch::Device device) {
  if (device.is_cuda()) device::cuda().synchronize(device.index());
}

// False where a signal asks for a stop.
bool deliver_next(Loader& loader, torch::Device device) {
  auto batch = loader.next();
  if (!batch) batch = loader.next();  // that was an epoch's end
  if (!batch) return false;
  batch->inputs = batch->inputs.to(device, /*non_blocking=*/true);
  batch->targets = batch->targets.to(device, /*non_blocking=*/true);
  return true;
}

// How many; nothing where a signal asks for a stop.
std::optional<int> deliver(Loader& loader, torch::Device device, int most) {
  const base::Clock clock;
  const auto begin = clock.now();
  int delivered = 0;
  for (; delivered < most && (delivered == 0 || clock.now() - begin < kMostOfRound); ++delivered) {
    if (!deliver_next(loader, device)) return std::nullopt;
  }
  wait_for(device);
  return delivered;
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
          fmt::format("data on the device: {:.0f} us a batch, copied: {:.0f} us a batch; {}", times->resident_us,
                      times->copied_us, sizes)};
}

std::optional<SourceTimes> time_sources(const BatchTimer& resident, const BatchTimer& copied,
                                        const base::Clock& clock) {
  const auto begin = clock.now();
  std::vector<double> of_resident, of_copied;
  for (int round = 0; round <= kRounds && (round == 0 || clock.now() - begin < kMostMeasured); ++round) {
    const auto resident_us = resident();
    const auto copied_us = resident_us ? copied() : std::nullopt;
    if (!copied_us) return std::nullopt;
    of_resident.push_back(*resident_us);
    of_copied.push_back(*copied_us);
  }
  return SourceTimes{median_after_first(std::move(of_resident)), median_after_first(std::move(of_copied))};
}

std::optional<double> time_batches(Loader& loader, torch::Device device, int prepared) {
  if (prepared > 0 && !deliver(loader, device, prepared)) return std::nullopt;
  const base::Clock clock;
  const auto begin = clock.now();
  const auto delivered = deliver(loader, device, kBatchesOfRound);
  if (!delivered) return std::nullopt;
  return std::chrono::duration<double, std::micro>(clock.now() - begin).count() / *delivered;
}

}  // namespace esper::data
