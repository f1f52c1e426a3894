#pragma once
// Whether compiling a step pays, given its duration and the number of steps left. Plain data; any thread.

#include <cstdint>

#include "program/program.h"

namespace esper::lanes {

struct CompileCost {
  bool pays = false;
  double left_s = 0;  // of the remaining steps
  double cost_s = 0;  // of the compilation
};
CompileCost weigh_compiling(const program::Program& program, double step_us, std::int64_t steps_left);

}  // namespace esper::lanes
