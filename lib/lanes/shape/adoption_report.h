#pragma once
#include "lanes/shape/shape_machine.h"

namespace esper::lanes {

// The events of an adoption. number: of the step that decided it; the next step of the shape runs in the new lane.
void report_adoption(const LaneContext& context, const StepShape& shape, const StepOutcome& outcome,
                     std::int64_t number);

}  // namespace esper::lanes
