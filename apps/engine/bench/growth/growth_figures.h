#pragma once
// What growing costs the steps around it. Free of torch.

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "engine/bench/loop_figures.h"

namespace esper::engine::bench {

// A change is a germination, a prune or a fossilising; its window is the first 100 steps after it, or up to the next
// change. The steady p50 of a structure is the median of the later half of its steps.
// {"window_steps", "windows", "steady_p50_us" (median of the structures'), "ratio" (99th percentile of all steps in
// windows, each over the steady p50 of its own structure), "steady_ratio" (the same of the steps that the steady p50s
// are of: what the machine does by itself), "worst_step_stall_ms" (a step in a window over that p50),
// "worst_pause_stall_ms" (between two epochs, over the median of all those pauses: where structures are prepared and
// swapped), "worst_stall_ms" (the larger), "prepare_ms", "swap_us", "stall_ms" (as the run reported for each change),
// "changes": [{epoch, what, ...}]}. {"problem"} where nothing grew for long enough.
nlohmann::ordered_json growth_json(const LoopFigures& figures);

// Of runs that do the same at the same step: the quotients are of each step's median over the runs, so that what comes
// at one step in most of them counts and what another program does to the machine once does not. A stall at another
// step in each run would not show there; so the worst stalls are those of any run, and "ratio_of_each_run" is reported
// too.
nlohmann::ordered_json growth_json(std::span<const LoopFigures> runs);

}  // namespace esper::engine::bench
