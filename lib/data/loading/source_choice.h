#pragma once
// Which source the batches of a run come from where data.gpu_dataset leaves that to the run: both are measured, and the
// faster one is taken. Both give the same bits (loader.h), so the choice changes no result.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "data/loading/loader.h"

namespace esper::data {

struct SourceFacts {
  std::int64_t resident_bytes = 0;  // that the data set takes on the device
  std::int64_t free_bytes = 0;      // there
  std::int64_t batches = 0;         // that the run trains on
};

// Microseconds of a batch with the forward beside which it is drawn and copied.
struct SourceTimes {
  double resident_us = 0, copied_us = 0;
};

struct SourceChoice {
  Source source = Source::kThreads;
  std::string reason;  // a sentence with the figures that decided
};

// Whether the data set takes less than a quarter of the free memory: the rest is for the network, its gradients and
// what the step keeps.
bool fits(const SourceFacts& facts);

// Threads where the data set does not fit or they were measured to be faster, else resident. `measure` is asked only
// where it fits and the run is long enough to repay it, and gives nothing where it had to stop.
SourceChoice choose_source(const SourceFacts& facts, const std::function<std::optional<SourceTimes>()>& measure);

// Has some batches drawn and computed, and gives the microseconds of one; nothing where a signal asks for a stop.
using BatchTimer = std::function<std::optional<double>()>;

// The medians of a few rounds in which both are timed, at least one. Before them each has one that does not count: the
// first forward of all loads kernels and chooses algorithms. From there on none but the first begins after
// kMostMeasured.
inline constexpr base::Duration kMostMeasured = std::chrono::milliseconds(300);
std::optional<SourceTimes> time_sources(const BatchTimer& resident, const BatchTimer& copied, const base::Clock& clock);

}  // namespace esper::data
