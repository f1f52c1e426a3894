#include "tolaria/lane.h"

#include "leyline/names.h"

namespace esper::tolaria {
namespace {

PreparedLane eager(Model& model) {
  const Forward forward = [&model](const torch::Tensor& inputs) {
    return model.network.forward(inputs, kasmina::Mode::kTrain);
  };
  PreparedLane lane;
  lane.step = [&model, forward](std::span<const Microbatch> microbatches) {
    train_step(model.state, model.settings, microbatches, forward);
  };
  return lane;
}

}  // namespace

PreparedLane prepare_lane(Model& model, leyline::Lane lane, std::span<const Microbatch>, const leyline::StepConfig&) {
  if (lane == leyline::Lane::kEager) return eager(model);
  PreparedLane refused;
  refused.lane = lane;
  refused.refusal = "this build has no " + std::string(leyline::name_of(lane)) + " lane";
  return refused;
}

}  // namespace esper::tolaria
