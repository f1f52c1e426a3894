// The replay, captured as one CUDA graph.

#include "lanes/lane/lane_kind.h"
#include "lanes/lane/recording.h"
#include "lanes/lane/replay_step.h"

namespace esper::lanes {
namespace {

// The graph holds addresses of what it was captured from, so it is destroyed first.
struct CapturedReplay {
  ReplayStep replay;
  std::shared_ptr<GraphedStep> graph;
};

}  // namespace

ExpectedLane make_graph_lane(const LaneRequest& request) {
  const auto& [program, model, example, setup] = request;
  const auto failure = [](const std::string& reason) {
    return base::failure(LaneFailure{LaneFailure::Cause::kCapture, reason});
  };
  if (!setup.capture.may(setup.device)) return failure("capturing graphs failed too often");
  auto step = std::make_shared<CapturedReplay>(
      CapturedReplay{ReplayStep(program.program.at(batch_size_of(example)), model, example), nullptr});
  step->graph = setup.capture.capture(model, example, setup.device,
                                      [&replay = step->replay](auto microbatches) { replay.run(microbatches); });
  if (step->graph == nullptr) return failure("the step cannot be captured");
  using Batch = std::span<const step::Microbatch>;
  return Lane(
      config::Lane::kGraph, [step](Batch microbatches) { step->graph->run(microbatches); }, {},
      [step](Batch microbatches) { step->replay.run(microbatches); });
}

}  // namespace esper::lanes
