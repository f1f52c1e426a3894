#pragma once
// A small model with seeds that already act, for steps in which gradients of several seeds meet.

#include <string>
#include <vector>

#include "leyline/command.h"
#include "support/models/lane_cases.h"

namespace esper::tests {

inline void set_scalar(step::Model& model, const std::string& id, double value) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : model.network.scalars()) {
    if (name == id) torch::Tensor(tensor).fill_(value);
  }
}

// An mlp with a growing seed in each of its first `seeds` slots, blended in at 0.6 with all gates open.
inline LaneCase grown_case() {
  LaneCase c = lane_case("mlp_grown", config::HostKind::kMlp, leyline::features_shape(12, 5), 16);
  c.config.host.hidden = {10, 8, 6};
  return c;
}

inline std::unique_ptr<step::Model> grown_model(const LaneCase& c, int seeds) {
  auto model = make_model(c);
  for (int i = 0; i < seeds; ++i) {
    leyline::AdaptationCommand command;
    command.command_id = "germinate-" + std::to_string(i);
    command.command_type = leyline::CommandType::kSeed;
    command.seed_operation.emplace();
    command.seed_operation->operation = leyline::SeedOperation::kGerminate;
    command.seed_operation->slot = "r0c" + std::to_string(i);
    command.seed_operation->blueprint_id = "mlp";
    at::manual_seed(11);
    model->network.apply(command, at::randn({4, 12}));
  }
  step::follow_structure(*model);
  for (const auto& group : model->network.parameter_groups()) {
    if (group.slot.empty()) continue;
    set_scalar(*model, group.id + ".alpha", 0.6);
    set_scalar(*model, group.id + ".isolation_gate", 1);
    set_scalar(*model, group.id + ".training_gate", 1);
    // A newborn changes nothing yet; one that has learnt does.
    const torch::NoGradGuard no_grad;
    at::manual_seed(13);
    for (const auto& [id, tensor] : group.parameters) torch::Tensor(tensor).add_(at::randn(tensor.sizes()), 0.5);
  }
  return model;
}

}  // namespace esper::tests
