#pragma once
// With which recipes a shape's program is compiled, one after another: each quickly, then the fastest with full effort.
// Training thread.

#include <cstdint>
#include <string>

#include "lanes/shape/compile_queue.h"

namespace esper::lanes {

// Fills `wanted` with the variants that are not quarantined; returns why the last of the others is.
std::string list_variants(const LaneContext& context, StepShape& shape);

// Starts the compilation of the next variant, if one is left.
void compile_next(const LaneContext& context, CompileQueue& queue, StepShape& shape);

// Weighs the remaining steps against a compilation, once the step's own time is known, and starts it if it pays.
void decide_on_compiling(const LaneContext& context, CompileQueue& queue, StepShape& shape, double step_us,
                         std::int64_t steps_left);

}  // namespace esper::lanes
