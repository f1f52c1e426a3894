#pragma once
// What the lanes did in this process, as numbers for telemetry. Plain data.

#include <array>
#include <cstdint>

#include "config/step_config.h"

namespace esper::lanes {

// Of CUDA graphs. Times are those of the last one captured, and of the last replay that was sampled.
struct GraphFigures {
  double capture_ms = 0;                    // of the host
  double stage_copy_ms = 0, replay_ms = 0;  // of the card
  std::int64_t captures = 0, replays = 0, failures = 0;
};

struct LaneFigures {
  static constexpr std::size_t kMostLanes = 8;
  config::Lane in_use = config::Lane::kEager;    // of the last step
  std::array<std::int64_t, kMostLanes> steps{};  // by Lane
  double warmup_ms = 0;                          // of the training thread: recording, planning, loading, checks
  double compile_ms = 0;                         // of the compiler's process, for the last program
  double eager_step_us = 0, steady_step_us = 0;  // medians when lanes were last compared
  std::int64_t warmup_remaining = 0;             // eager steps before this shape of step is recorded
  std::int64_t pending = 0;                      // programs that are being compiled
  std::int64_t cache_hits = 0, cache_misses = 0, quarantined = 0, refusals = 0, checks = 0, checks_failed = 0;
  std::int64_t compiled_epochs = 0;                  // in which no step ran in another lane
  double prepare_ms = 0, swap_us = 0, stall_ms = 0;  // of the last change of structure: tolaria.growth.*
  std::int64_t swaps = 0;                            // changes of structure that were measured
  GraphFigures graphs;                               // at the end of the epoch

  std::int64_t steps_in(config::Lane lane) const { return steps[static_cast<std::size_t>(lane)]; }
};

}  // namespace esper::lanes
