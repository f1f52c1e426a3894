#pragma once
// Which source the batches of a run come from where data.gpu_dataset leaves that to the run: both are measured, and
// copies are taken where they are clearly faster. Both give the same bits (loader.h), so the choice changes no result.

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

// What batches are timed with: nothing, or each with the network's forward, beside which the next one is drawn and
// copied.
enum class Beside { kNothing, kForward };

// Microseconds of a batch from either source.
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

// Threads where the data set does not fit, or where they save a tenth of a batch's time or more both alone and beside
// the forward; else resident. Alone, since this forward, which its launches bind, can take longer than a whole step in
// a graph: copies that it hides might bind the run. Beside the forward, since threads need the processor, too.
// `measure` is asked only where the set fits and the run is long enough to repay it, for the second figures only where
// the first favour threads, and gives nothing where it had to stop.
using MeasureSources = std::function<std::optional<SourceTimes>(Beside beside)>;
SourceChoice choose_source(const SourceFacts& facts, const MeasureSources& measure);

// Has some batches drawn, and computed where a forward is beside them, and gives the microseconds of one; nothing where
// a signal asks for a stop.
using BatchTimer = std::function<std::optional<double>()>;

// The medians of a few rounds in which both are timed, at least one. Before them each has one that does not count: the
// first forward of all loads kernels and chooses algorithms. From there on none but the first begins after
// kMostMeasured.
inline constexpr base::Duration kMostMeasured = std::chrono::milliseconds(300);
std::optional<SourceTimes> time_sources(const BatchTimer& resident, const BatchTimer& copied, const base::Clock& clock);

}  // namespace esper::data
