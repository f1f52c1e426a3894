#pragma once
// What the lanes of this process did, as numbers for telemetry. Plain data.

#include <array>
#include <cstdint>

#include "config/step_config.h"

namespace esper::lanes {

// CUDA graphs. Times are of the last graph captured and of the last replay sampled.
struct GraphFigures {
  double capture_ms = 0;                    // host time
  double stage_copy_ms = 0, replay_ms = 0;  // device time
  std::int64_t captures = 0, replays = 0, failures = 0;
};

inline constexpr std::size_t kMostLanes = 8;
using LaneCounts = std::array<std::int64_t, kMostLanes>;  // by Lane

struct LaneFigures {
  config::Lane in_use = config::Lane::kEager;  // of the last step
  LaneCounts steps{};
  double warmup_ms = 0;                          // of the training thread: recording, planning, loading, checks
  double compile_ms = 0;                         // of the compiler's process, for the last program
  double eager_step_us = 0, steady_step_us = 0;  // medians of the last comparison of lanes
  std::int64_t warmup_remaining = 0;             // eager steps before this shape is recorded
  std::int64_t pending = 0;                      // programs that are being compiled
  std::int64_t cache_hits = 0, cache_misses = 0, quarantined = 0, refusals = 0, checks = 0, checks_failed = 0;
  std::int64_t compiled_epochs = 0;                  // epochs in which every step ran compiled
  double prepare_ms = 0, swap_us = 0, stall_ms = 0;  // of the last structure change: tolaria.growth.*
  std::int64_t swaps = 0;                            // structure changes that were measured
  GraphFigures graphs;                               // at the end of the epoch

  std::int64_t steps_in(config::Lane lane) const { return steps[static_cast<std::size_t>(lane)]; }
};

}  // namespace esper::lanes
