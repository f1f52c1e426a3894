#pragma once
#include "lanes/shape/shape_machine.h"

namespace esper::lanes {

// The events of an adoption. number: of the step that settled it; the next one of its shape runs in the lane.
void report_adoption(const LaneContext& context, const StepShape& shape, const StepOutcome& outcome,
                     std::int64_t number);

}  // namespace esper::lanes
