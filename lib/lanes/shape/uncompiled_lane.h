#pragma once
#include <span>

#include "lanes/shape/lane_context.h"

namespace esper::lanes {

// The fastest available lane without a compiler: in auto the last such row of the table that can be made, else the
// selected lane. Fails with kUnavailable or kCapture if there is none.
ExpectedLane make_uncompiled_lane(const LaneContext& context, const program::Program& program,
                                  std::span<const step::Microbatch> example);

}  // namespace esper::lanes
