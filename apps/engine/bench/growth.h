#pragma once
// What growing costs the steps around it.

#include <nlohmann/json_fwd.hpp>

#include "engine/bench/loop.h"

namespace esper::engine::bench {

// One run that germinates, blends and prunes, again and again, every step timed.
LoopFigures run_growing(const leyline::RunConfig& config, const Scratch& scratch);

// {"steady_p50_us", "growing_p99_us", "growing_max_us", "ratio" (growing p99 over steady p50), "worst_stall_us" (a
// step over the median of its own epoch), "changes": [{epoch, what}]}. Steady are the epochs before the first seed,
// but for the first two.
nlohmann::ordered_json growth_json(const LoopFigures& figures);

}  // namespace esper::engine::bench
