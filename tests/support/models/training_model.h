#pragma once
// A model whose seeds are in TRAINING, in one of its forms.

#include <fmt/core.h>

#include <string>
#include <vector>

#include "leyline/seed_command.h"
#include "support/models/lane_cases.h"

namespace esper::tests {

inline LaneCase with_training(LaneCase c, config::SeedTraining training) {
  c.config.growth.training = training;
  return c;
}

inline LaneCase in_shadow(const LaneCase& c) { return with_training(c, config::SeedTraining::kShadow); }

// Hosts of each kind that can grow, with two slots or more, without dropout and clipping.
inline std::vector<LaneCase> growing_cases() {
  LaneCase mlp = lane_case("growing_mlp", config::HostKind::kMlp, leyline::features_shape(12, 5), 16);
  mlp.config.host.hidden = {10, 8, 6};
  LaneCase cnn = lane_case("growing_cnn", config::HostKind::kCnn, leyline::image_shape(3, 12, 12, 5), 8);
  cnn.config.host.blocks = 3;
  cnn.config.host.pool_layers = 1;
  cnn.config.host.base_channels = 6;
  LaneCase transformer =
      lane_case("growing_transformer", config::HostKind::kTransformer, leyline::tokens_shape(9, 7), 4);
  transformer.config.host.layers = 3;
  transformer.config.host.segments = 3;
  transformer.config.host.embedding = 16;
  transformer.config.host.heads = 2;
  return {mlp, cnn, transformer};
}

// The case's model with a seed of the case's blueprint in TRAINING in each of its first `seeds` slots. What the seeds
// have learnt is made up.
inline std::unique_ptr<step::Model> training_model(const LaneCase& c, int seeds) {
  auto model = make_model(c);
  const auto blueprint = c.config.host.kind == config::HostKind::kCnn ? "conv_light" : "mlp";
  const auto probe = make_batches(c, 1).front().inputs;
  for (int i = 0; i < seeds; ++i) {
    const auto id = fmt::format("seed-{:04}", i + 1);
    for (const auto& command : {leyline::germination("germinate " + id, fmt::format("r0c{}", i), blueprint),
                                leyline::seed_command("train " + id, leyline::SeedOperation::kStartTraining, id)}) {
      const auto events = model->network.apply(command, probe);
      TORCH_CHECK(events.back().kind != kasmina::LifecycleEvent::Kind::kCommandRejected, events.back().reason);
    }
  }
  step::follow_structure(*model);
  const torch::NoGradGuard no_grad;
  at::manual_seed(13);
  for (const auto& group : model->network.parameter_groups()) {
    if (group.slot.empty()) continue;
    for (const auto& [id, tensor] : group.parameters) torch::Tensor(tensor).add_(at::randn(tensor.sizes()), 0.3);
  }
  return model;
}

}  // namespace esper::tests
