// The recorded operations in sequence, without autograd.

#include "lanes/lane/lane_kind.h"
#include "lanes/lane/recording.h"
#include "lanes/lane/replay_step.h"

namespace esper::lanes {

ReplayStep::ReplayStep(const program::Program& program, const step::Model& model,
                       std::span<const step::Microbatch> example)
    : inputs_(program, model, example) {
  std::vector<std::size_t> moving;
  for (const StepInputs::BatchPart& part : inputs_.batch) moving.push_back(part.input);
  replay_ = std::make_unique<program::Replay>(program, inputs_.tensors, moving);
}

void ReplayStep::run(std::span<const step::Microbatch> microbatches) {
  for (const StepInputs::BatchPart& part : inputs_.batch) replay_->rebind(part.input, part.of(microbatches));
  replay_->run();
}

ExpectedLane make_replay_lane(const LaneRequest& request) {
  const auto program = request.program.program.at(batch_size_of(request.example));
  auto step = std::make_shared<ReplayStep>(program, request.model, request.example);
  return Lane(
      config::Lane::kReplay, [step](std::span<const step::Microbatch> microbatches) { step->run(microbatches); }, {},
      {}, [step] { step->release_intermediates(); });
}

}  // namespace esper::lanes
