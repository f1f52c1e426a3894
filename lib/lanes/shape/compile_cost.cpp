#include "lanes/shape/compile_cost.h"

namespace esper::lanes {
namespace {

// A compilation takes about this long with cold caches, and a compiled step saves about this share of a step. Compiling
// runs beside the training, so it has to recover only the disturbance; with both estimates off by a factor of two the
// decision still costs less than it saves.
constexpr double kCompileSeconds = 10, kSecondsPerOperator = 0.03;
constexpr double kShareSaved = 0.3;

}  // namespace

CompileCost weigh_compiling(const program::Program& program, double step_us, std::int64_t steps_left) {
  const double left_s = step_us * 1e-6 * static_cast<double>(steps_left);
  const double cost_s = kCompileSeconds + kSecondsPerOperator * static_cast<double>(program.operations.size());
  return {left_s * kShareSaved > cost_s, left_s, cost_s};
}

}  // namespace esper::lanes
