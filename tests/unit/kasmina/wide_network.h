#pragma once
// Networks of every host with a block that can be widened.

#include <ATen/ops/randn.h>

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <string>
#include <vector>

#include "support/models/grown_network.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina {

inline constexpr const char* kWideSeed = "seed-0001";
inline constexpr std::int64_t kRows = 6;

struct WideCase {
  std::string name;
  config::HostConfig host;
  leyline::SampleShape sample;
  std::string slot;
};

inline WideCase dense() {
  WideCase c{"mlp", {}, leyline::features_shape(5, 3), "r0c1"};
  c.host.hidden = {8, 6, 7};
  return c;
}

// The block behind the slot is a convolution or, at the last one, the head behind the mean.
inline WideCase conv(const std::string& slot) {
  WideCase c{"cnn", {}, leyline::image_shape(2, 8, 8, 3), slot};
  c.host.kind = config::HostKind::kCnn;
  c.host.blocks = 3;
  c.host.base_channels = 4;
  c.host.pool_layers = 2;
  return c;
}

inline WideCase decoder_text() {
  WideCase c{"transformer", {}, leyline::tokens_shape(7, 11), "r0c0"};
  c.host.kind = config::HostKind::kTransformer;
  c.host.layers = c.host.segments = 2;
  c.host.embedding = 16;
  c.host.heads = 2;
  return c;
}

inline config::GrowthConfig widening_growth() {
  config::GrowthConfig growth;
  growth.blueprints = {"widen", "widen_half"};
  growth.max_seeds = 3;
  growth.gates.evidence = config::Evidence::kNone;
  growth.gates.min_training_epochs = growth.gates.min_blending_epochs = 1;
  return growth;
}

struct Wide {
  explicit Wide(const WideCase& c, const config::GrowthConfig& growth = widening_growth())
      : network(c.host, growth, c.sample, 7, torch::kCPU) {
    at::manual_seed(2);
    probe = tests::inputs_of(c.sample, kRows);
    stir();
  }
  std::map<std::string, torch::Tensor> parameters() const {
    std::map<std::string, torch::Tensor> all;
    for (const auto& group : network.parameter_groups()) {
      for (const auto& [id, tensor] : group.parameters) all[id] = tensor;
    }
    return all;
  }
  std::map<std::string, torch::Tensor> buffers() const {
    std::map<std::string, torch::Tensor> all;
    for (const auto& [id, tensor] : network.buffers()) all[id] = tensor;
    return all;
  }
  // Values that are far from their start, running statistics included.
  void stir() const {
    const at::NoGradGuard no_grad;
    at::manual_seed(3);
    for (const auto& [id, tensor] : parameters()) torch::Tensor(tensor).add_(at::randn(tensor.sizes()), 0.1);
    for (const auto& [id, tensor] : buffers()) {
      if (tensor.dim() == 1) torch::Tensor(tensor).add_(at::randn(tensor.sizes()).abs(), 0.2);
    }
  }
  std::vector<LifecycleEvent> grow(const std::string& slot, const std::string& blueprint = "widen") {
    return network.apply(tests::germination(++commands, slot, blueprint), probe);
  }
  leyline::AdaptationCommand command(SeedOperation operation) {
    auto made = tests::germination(++commands, "", "");
    made.target_seed_id = kWideSeed;
    made.seed_operation->operation = operation;
    return made;
  }
  void end_epoch() {
    EpochFacts facts;
    facts.epoch = ++epoch;
    facts.validation_accuracy = 0.8;
    facts.validation_loss = 0.5;
    facts.host_gradient_norm = 1;
    facts.seeds.push_back({kWideSeed, 1.0, 0.7, 0.9});
    network.end_epoch(facts);
  }
  // To PROBATIONARY, through every gate.
  void bring_to_trial() {
    for (const auto operation : {SeedOperation::kStartTraining, SeedOperation::kStartGrafting,
                                 SeedOperation::kStabilize, SeedOperation::kEvaluate}) {
      for (int i = 0; i < 8; ++i) end_epoch();
      const auto events = network.apply(command(operation), probe);
      INFO(events.back().reason);
      REQUIRE_FALSE(Growing::rejected(events));
    }
    end_epoch();
  }
  torch::Tensor output(Mode mode = Mode::kEvaluate) const {
    const at::NoGradGuard no_grad;
    return network.forward(probe, mode).clone();
  }
  void set_alpha(double alpha) const {
    for (const auto& [id, tensor] : network.scalars()) {
      if (id == std::string(kWideSeed) + ".alpha") torch::Tensor(tensor).fill_(alpha);
    }
  }

  Network network;
  torch::Tensor probe;
  int commands = 0;
  std::uint32_t epoch = 0;
};

inline double relative_change_of(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max().clamp_min(1e-12)).item<double>();
}

inline std::vector<WideCase> wide_cases() { return {dense(), conv("r0c0"), conv("r0c2"), decoder_text()}; }

}  // namespace esper::kasmina
