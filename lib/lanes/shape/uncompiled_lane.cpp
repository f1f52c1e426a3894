#include "lanes/shape/uncompiled_lane.h"

#include <ranges>

namespace esper::lanes {

ExpectedLane make_uncompiled_lane(const LaneContext& context, const program::Program& program,
                                  std::span<const step::Microbatch> example) {
  ExpectedLane lane = base::failure(LaneFailure{.reason = "no lane without a compiler was selected"});
  for (const LaneKind& kind : context.services.kinds | std::views::reverse) {
    const bool wanted = context.config.lane == config::Lane::kAuto || context.config.lane == kind.id;
    if (!wanted || !kind.has_program || kind.has_compiler || !kind.available(context.device)) continue;
    lane = make_lane(kind, {program}, context.model, example, context.setup());
    if (lane || lane.error().cause != LaneFailure::Cause::kCapture) break;
  }
  return lane;
}

}  // namespace esper::lanes
