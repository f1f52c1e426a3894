#pragma once
// A tiny network that grows, and the commands and facts that move it.

#include <torch/types.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kasmina/network.h"
#include "kasmina/network/network_seeds.h"

namespace esper::kasmina {

using Kind = LifecycleEvent::Kind;
using leyline::SeedOperation;
using leyline::Stage;

inline config::GrowthConfig quick_growth() {
  config::GrowthConfig growth;
  growth.alpha_ticks = 3;
  growth.embargo_epochs = 2;
  growth.gates.min_training_epochs = 2;
  growth.gates.min_blending_epochs = 2;
  growth.training = config::SeedTraining::kStraightThrough;
  growth.isolate = true;
  return growth;
}

inline config::HostConfig tiny_host() {
  config::HostConfig host;
  host.hidden = {12, 10};
  return host;
}

inline leyline::SampleShape tiny_sample() {
  leyline::SampleShape sample;
  sample.features = 4;
  sample.num_classes = 3;
  return sample;
}

inline const std::string& owner_of(const Network& network, const std::string& parameter_id) {
  return network.state().structure.ownership.owner_of(parameter_id);
}

struct Growing {
  config::GrowthConfig growth;
  std::unique_ptr<Network> owned;
  Network& network;
  torch::Tensor probe = at::randn({8, 4}, at::detail::createCPUGenerator(5));
  std::uint32_t epoch = 0;
  int commands = 0;

  explicit Growing(const config::GrowthConfig& config = quick_growth())
      : growth(config),
        owned(std::make_unique<Network>(tiny_host(), config, tiny_sample(), 7, torch::kCPU)),
        network(*owned) {}

  leyline::AdaptationCommand command(SeedOperation operation, const std::string& seed_id) {
    leyline::AdaptationCommand made;
    made.command_id.push_back('c');
    made.command_id += std::to_string(++commands);
    made.command_type = leyline::CommandType::kSeed;
    made.target_seed_id = seed_id;
    made.seed_operation.emplace();
    made.seed_operation->operation = operation;
    return made;
  }
  leyline::AdaptationCommand germination(const std::string& slot, const std::string& blueprint) {
    auto made = command(SeedOperation::kGerminate, "");
    made.seed_operation->slot = slot;
    made.seed_operation->blueprint_id = blueprint;
    return made;
  }
  std::vector<LifecycleEvent> apply(const leyline::AdaptationCommand& wanted) { return network.apply(wanted, probe); }
  std::vector<LifecycleEvent> issue(SeedOperation operation, const std::string& seed_id) {
    return apply(command(operation, seed_id));
  }
  std::vector<LifecycleEvent> germinate(const std::string& slot, const std::string& blueprint) {
    return apply(germination(slot, blueprint));
  }

  // An epoch in which every seed shows what every gate wants.
  EpochFacts good_facts() {
    EpochFacts facts;
    facts.epoch = ++epoch;
    facts.validation_loss = 0.5;
    facts.validation_accuracy = 0.8;
    facts.host_gradient_norm = 1;
    facts.learning_rate = 0.1;
    for (const auto& seed : export_seed_states(network.state())) facts.seeds.push_back({seed.seed_id, 1.0, 0.7, 0.9});
    return facts;
  }
  std::vector<LifecycleEvent> end_epoch() { return network.end_epoch(good_facts()).events; }

  // Takes a seed as far as a stage, through every gate.
  void grow_to(const std::string& seed_id, Stage stage) {
    constexpr std::pair<Stage, SeedOperation> kSteps[] = {{Stage::kTraining, SeedOperation::kStartTraining},
                                                          {Stage::kBlending, SeedOperation::kStartGrafting},
                                                          {Stage::kShadowing, SeedOperation::kStabilize},
                                                          {Stage::kProbationary, SeedOperation::kEvaluate},
                                                          {Stage::kFossilized, SeedOperation::kFossilize}};
    for (const auto& [to, operation] : kSteps) {
      if (to > stage) return;
      for (int i = 0; i < 3; ++i) end_epoch();
      TORCH_CHECK(!rejected(issue(operation, seed_id)), "a step was refused");
    }
  }

  static bool rejected(const std::vector<LifecycleEvent>& events) {
    return events.empty() || events.back().kind == Kind::kCommandRejected;
  }
  leyline::SeedState state(const std::string& seed_id) const {
    for (const auto& seed : export_seed_states(network.state())) {
      if (seed.seed_id == seed_id) return seed;
    }
    return {};
  }
  Stage slot_stage(std::size_t slot) const { return export_slots(network.state()).at(slot).stage; }
  float scalar(const std::string& id) const {
    for (const auto& named : network.scalars()) {
      if (named.id == id) return named.tensor.item<float>();
    }
    TORCH_CHECK(false, "no scalar ", id);
  }
  torch::Tensor output() const {
    const at::NoGradGuard no_grad;
    return network.forward(probe, Mode::kEvaluate);
  }
  torch::Tensor parameter(const std::string& id) const {
    for (const auto& group : network.parameter_groups()) {
      for (const auto& named : group.parameters) {
        if (named.id == id) return named.tensor;
      }
    }
    TORCH_CHECK(false, "no parameter ", id);
  }
  // Gives a seed something to say: blueprints start neutral.
  void disturb(const std::string& seed_id) const {
    const at::NoGradGuard no_grad;
    for (const auto& group : network.parameter_groups()) {
      if (group.id != seed_id) continue;
      for (const auto& named : group.parameters) named.tensor.add_(0.3);
    }
  }
};

inline bool same_bits(const torch::Tensor& a, const torch::Tensor& b) {
  return a.sizes() == b.sizes() && (a.numel() == 0 || std::memcmp(a.contiguous().const_data_ptr(),
                                                                  b.contiguous().const_data_ptr(), a.nbytes()) == 0);
}

}  // namespace esper::kasmina
