#pragma once
// How much a small change of the parameters changes a step. Training thread; reads the device.

#include <span>

#include "lanes/lane/step_external_tensors.h"
#include "lanes/shape/lane_context.h"
#include "program/check.h"
#include "step/train_step.h"

namespace esper::lanes {

// The difference (program::Tolerance) of one tensor between eager's step, which the model has just made from `before`,
// and eager's step from parameters that are off by `change` of themselves, drawn at random, and their averages by as
// much. Runs the latter, with the same random numbers. The model is left as it is, also where it throws: may not fit
// into memory.
double step_sensitivity(const LaneContext& context, const StepSnapshot& before, const program::Tracked& item,
                        double change, std::span<const step::Microbatch> microbatches);

}  // namespace esper::lanes
