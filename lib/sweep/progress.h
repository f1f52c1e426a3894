#pragma once
// What is known of a sweep's jobs. Plain data, which the daemon fills in.

#include <cstddef>
#include <optional>
#include <vector>

#include "sweep/sweep.h"

namespace esper::sweep {

// A configuration trained from one seed.
struct SeedProgress {
  enum class State { kRunning, kReached, kFailed };
  // kRunning: or queued. kReached: trained for as many epochs as it was to, and paused or finished. kFailed: it does
  // not go on; also where it was cancelled, which may have been after it had its result.
  State state = State::kRunning;
  // The sweep's metric of the last validation: of halving at each rung reached, else one at the end. NaN: diverged.
  std::vector<double> results;
};

struct ConfigurationProgress {
  std::vector<SeedProgress> seeds;  // in the sweep's order; empty: not started
  std::size_t rung = 0;             // halving: that it is to reach, or has reached
};

// NaN is worse than any number, and no better than itself.
bool is_better(double value, double than, Goal goal);

// The configuration's result at a rung: the mean of its seeds; nothing before all of them are there. A seed that failed
// on its way to the rung, or diverged, makes it NaN, the worst result of all.
std::optional<double> rung_result(const ConfigurationProgress& progress, std::size_t rung);

}  // namespace esper::sweep
