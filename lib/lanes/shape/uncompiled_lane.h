#pragma once
#include <span>

#include "lanes/shape/lane_context.h"

namespace esper::lanes {

// The fastest lane that needs no compiler, that the run wants and that the device takes: in auto the last such row of
// the table that can be made, else the one that was asked for. Fails with kUnavailable or kCapture where there is none.
ExpectedLane make_uncompiled_lane(const LaneContext& context, const program::Program& program,
                                  std::span<const step::Microbatch> example);

}  // namespace esper::lanes
