// The step as written, through autograd.

#include "lanes/lane/lane_kind.h"

namespace esper::lanes {

ExpectedLane make_eager_lane(const LaneRequest& request) {
  const auto forward = step::training_forward(request.model.network);
  return Lane(config::Lane::kEager, [&model = request.model, forward](std::span<const step::Microbatch> microbatches) {
    step::train_step(model.state, model.settings, microbatches, forward);
  });
}

}  // namespace esper::lanes
