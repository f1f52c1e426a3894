#pragma once
// Networks of every host with a seed in every slot that has something to say.

#include <torch/types.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kasmina/network.h"
#include "kasmina/network/network_seeds.h"

namespace esper::tests {

struct GrownCase {
  std::string name;
  config::HostConfig host;
  leyline::SampleShape sample;
  std::string blueprint;
};

inline GrownCase grown_case(const std::string& name, config::HostKind kind, const leyline::SampleShape& sample,
                            const std::string& blueprint) {
  GrownCase c;
  c.name = name;
  c.host.kind = kind;
  c.sample = sample;
  c.blueprint = blueprint;
  return c;
}

// Small ones, of four slots each.
inline std::vector<GrownCase> grown_cases() {
  using config::HostKind;
  std::vector<GrownCase> cases;
  auto& mlp = cases.emplace_back(grown_case("mlp", HostKind::kMlp, leyline::features_shape(6, 3), "mlp"));
  mlp.host.hidden = {12, 10, 8, 9};
  auto& cnn = cases.emplace_back(grown_case("cnn", HostKind::kCnn, leyline::image_shape(2, 8, 8, 3), "conv_heavy"));
  cnn.host.blocks = 4;
  cnn.host.base_channels = 4;
  cnn.host.pool_layers = 2;
  auto& transformer =
      cases.emplace_back(grown_case("transformer", HostKind::kTransformer, leyline::tokens_shape(7, 11), "attention"));
  transformer.host.layers = transformer.host.segments = 4;
  transformer.host.embedding = 16;
  transformer.host.heads = 2;
  return cases;
}

inline leyline::AdaptationCommand germination(int number, const std::string& slot, const std::string& blueprint) {
  leyline::AdaptationCommand command;
  command.command_id = "grow-" + std::to_string(number);
  command.command_type = leyline::CommandType::kSeed;
  command.seed_operation.emplace();
  command.seed_operation->operation = leyline::SeedOperation::kGerminate;
  command.seed_operation->slot = slot;
  command.seed_operation->blueprint_id = blueprint;
  return command;
}

// Puts the seeds of all slots into BLENDING at these alphas, in the order of slots; alpha 1 is PROBATIONARY.
inline void blend_to(kasmina::Network& network, const std::vector<double>& alphas) {
  auto topology = network.save_topology();
  for (std::size_t i = 0; i < alphas.size(); ++i) {
    auto& slot = topology.at("slots").at(i);
    slot["stage"] = static_cast<int>(alphas[i] == 1 ? leyline::Stage::kProbationary : leyline::Stage::kBlending);
    slot["seed"]["alpha"]["value"] = slot["seed"]["alpha"]["target"] = slot["seed"]["alpha"]["start"] = alphas[i];
  }
  network.restore_topology(topology);
}

// Every way to have the active seeds on, as they run, or off; bit i of the place counts for seed i: off where it is 0.
inline std::vector<kasmina::Configuration> all_on_and_off(const kasmina::Network& network) {
  const auto seeds = kasmina::active_seeds(network.state());
  std::vector<kasmina::Configuration> all;
  for (std::size_t on = 0; on < std::size_t{1} << seeds.size(); ++on) {
    auto& configuration = all.emplace_back();
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      if ((on >> i & 1) == 0) configuration[seeds[i]] = 0;
    }
  }
  return all;
}

// One sample batch of this shape.
inline torch::Tensor inputs_of(const leyline::SampleShape& sample, std::int64_t rows) {
  std::vector<std::int64_t> shape = {rows};
  for (const std::int64_t size : sample.sizes()) shape.push_back(size);
  const bool tokens = sample.kind == leyline::SampleKind::kTokens;
  return tokens ? at::randint(sample.num_classes, shape, torch::kInt64) : at::randn(shape);
}

inline torch::Tensor targets_of(const leyline::SampleShape& sample, std::int64_t rows) {
  const bool tokens = sample.kind == leyline::SampleKind::kTokens;
  return at::randint(sample.num_classes, tokens ? std::vector<std::int64_t>{rows, sample.context} : std::vector{rows},
                     torch::kInt64);
}

// With a seed in each slot, its parameters drawn at random so that it is heard.
inline std::unique_ptr<kasmina::Network> grown_network(const GrownCase& c, config::Composition composition,
                                                       const std::vector<double>& alphas) {
  config::GrowthConfig growth;
  growth.composition = composition;
  growth.max_seeds = static_cast<int>(alphas.size());
  at::manual_seed(11);
  auto network = std::make_unique<kasmina::Network>(c.host, growth, c.sample, 7, torch::kCPU);
  const auto probe = inputs_of(c.sample, 4);
  int number = 0;
  for (const auto& slot : kasmina::export_slots(network->state())) {
    if (number == static_cast<int>(alphas.size())) break;
    const auto events = network->apply(germination(number++, slot.slot, c.blueprint), probe);
    TORCH_CHECK(events.back().kind != kasmina::LifecycleEvent::Kind::kCommandRejected, events.back().reason);
  }
  const at::NoGradGuard no_grad;
  for (const auto& group : network->parameter_groups()) {
    if (group.id == "host") continue;
    for (const auto& named : group.parameters) named.tensor.detach().add_(at::randn(named.tensor.sizes()), 0.2);
  }
  blend_to(*network, alphas);
  return network;
}

}  // namespace esper::tests
