// Depth that is grown: copies of a transformer's blocks behind them.

#include "kasmina/block_copy.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "kasmina/topology.h"
#include "support/grown_network.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina {
namespace {

using Tensors = std::map<std::string, torch::Tensor>;

constexpr std::size_t kTensorsOfBlock = 12, kOfThemOnResidualPath = 4;

leyline::SampleShape text() { return leyline::tokens_shape(7, 11); }

config::HostConfig decoder(std::int64_t layers, std::int64_t segments) {
  config::HostConfig host;
  host.kind = config::HostKind::kTransformer;
  host.layers = layers;
  host.segments = segments;
  host.embedding = 16;
  host.heads = 2;
  return host;
}

config::GrowthConfig copies_only() {
  config::GrowthConfig growth;
  growth.blueprints = {"copy_block", "copy_block_plain"};
  return growth;
}

Tensors parameters_of(const Network& network) {
  Tensors all;
  for (const auto& group : network.parameter_groups()) {
    for (const auto& [id, tensor] : group.parameters) all[id] = tensor;
  }
  return all;
}

bool is_on_residual_path(const std::string& id) {
  return id.find(".attention.proj.") != std::string::npos || id.find(".mlp.down.") != std::string::npos;
}

// Weights that are far from their start, so that each block does something of its own.
void stir(const Network& network) {
  const at::NoGradGuard no_grad;
  for (const auto& [id, tensor] : parameters_of(network)) torch::Tensor(tensor).add_(at::randn(tensor.sizes()), 0.1);
}

double value_of(const LifecycleEvent& event, const std::string& name) {
  for (const auto& [known, value] : event.values) {
    if (known == name) return value;
  }
  FAIL("no value " << name);
  return 0;
}

struct Deepening {
  explicit Deepening(const config::HostConfig& host, const config::GrowthConfig& growth = copies_only())
      : network(host, growth, text(), 7, torch::kCPU) {
    at::manual_seed(3);
    stir(network);
  }
  std::vector<LifecycleEvent> grow(const std::string& slot, const std::string& blueprint) {
    auto events = network.apply(tests::germination(++commands, slot, blueprint), probe);
    INFO(events.back().reason);
    REQUIRE(events.back().kind != Kind::kCommandRejected);
    return events;
  }
  torch::Tensor output() const {
    const at::NoGradGuard no_grad;
    return network.forward(probe, Mode::kEvaluate);
  }

  Network network;
  torch::Tensor probe = tests::inputs_of(text(), 4);
  int commands = 0;
};

double relative_change(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max().clamp_min(1e-12)).item<double>();
}

void fossilize(Network& network, const std::string& seed_id) {
  network.restore_topology(with_stage(network.save_topology(), seed_id, leyline::Stage::kFossilized));
}

}  // namespace

TEST_CASE("copy_block is the identity at birth, at any alpha, with the block's other weights") {
  auto host = decoder(3, 3);
  host.dropout = 0.2;
  Deepening deepening(host);
  const auto before = deepening.output();
  const auto events = deepening.grow("r0c1", "copy_block");
  CHECK(value_of(events.front(), "relative_output_change") == 0);
  CHECK(value_of(events.front(), "change_at_full_alpha") <= 1e-6);
  const auto all = parameters_of(deepening.network);
  std::size_t num_copied = 0, num_zero = 0;
  for (const auto& [id, tensor] : all) {
    if (!id.starts_with("seed-0001.")) continue;
    INFO(id);
    const auto& source = all.at("host.layer1" + id.substr(id.find('.')));
    CHECK(tensor.data_ptr() != source.data_ptr());
    if (is_on_residual_path(id)) {
      CHECK(tensor.abs().max().item<float>() == 0);
      ++num_zero;
    } else {
      CHECK(same_bits(tensor, source));
      ++num_copied;
    }
  }
  CHECK(num_zero == kOfThemOnResidualPath);
  CHECK(num_copied == kTensorsOfBlock - kOfThemOnResidualPath);
  fossilize(deepening.network, "seed-0001");
  CHECK(relative_change(deepening.output(), before) <= 1e-6);
}

TEST_CASE("a plain copy computes what the host's block computes, and passes G0 since it starts at alpha 0") {
  const Host host = build_host(decoder(2, 2), text(), 7, torch::kCPU);
  Seed seed;
  seed.id = "seed-0001";
  seed.blueprint = find_blueprint("copy_block_plain", FeatureKind::kSequence);
  seed.module = build_seed(*seed.blueprint, host.sites[1], seed.id, 7, torch::kCPU);
  copy_block(seed, host.sites[1], host.tensors);
  const auto feature = at::randn({4, 7, 16});
  torch::Tensor output;
  host.forward(tests::inputs_of(text(), 4), Mode::kEvaluate, [&](std::size_t slot, const torch::Tensor& x) {
    if (slot == 1) output = x;
    return slot == 0 ? feature : x;
  });
  CHECK(same_bits(seed.module.forward(feature, Mode::kEvaluate), output));

  Deepening deepening(decoder(2, 2));
  const auto events = deepening.grow("r0c0", "copy_block_plain");
  CHECK(value_of(events.front(), "relative_output_change") == 0);
  CHECK(value_of(events.front(), "change_at_full_alpha") > 1e-3);
}

TEST_CASE("a copied block at alpha 1 is the deeper transformer with these weights: logits and gradients") {
  Deepening grown(decoder(2, 2));
  grown.grow("r0c0", "copy_block_plain");
  stir(grown.network);  // else a copy that was mixed up with its source would not show
  fossilize(grown.network, "seed-0001");
  const Network stacked(decoder(3, 1), {}, text(), 7, torch::kCPU);
  const auto from = parameters_of(grown.network), to = parameters_of(stacked);
  REQUIRE(from.size() == to.size());
  Tensors pairs;
  for (const auto& [id, tensor] : to) {
    std::string source = id;
    if (id.starts_with("host.layer1.")) source.replace(0, 11, "seed-0001");
    if (id.starts_with("host.layer2.")) source.replace(0, 11, "host.layer1");
    pairs[id] = from.at(source);
    const at::NoGradGuard no_grad;
    torch::Tensor(tensor).copy_(from.at(source));
  }
  const auto targets = tests::targets_of(text(), 4).flatten();
  const auto logits_with_gradients = [&](const Network& network) {
    const auto logits = network.forward(grown.probe, Mode::kTrain);
    at::cross_entropy_loss(logits.flatten(0, 1), targets).backward();
    return logits;
  };
  CHECK(relative_change(logits_with_gradients(grown.network), logits_with_gradients(stacked)) < 1e-5);
  for (const auto& [id, tensor] : to) {
    INFO(id);
    CHECK((pairs.at(id).grad() - tensor.grad()).norm().item<double>() <= 1e-4 * tensor.grad().norm().item<double>());
  }
}

TEST_CASE("a copy is of the last layer of its segment, and every slot may have one") {
  Deepening deepening(decoder(4, 2));
  deepening.grow("r0c0", "copy_block_plain");
  deepening.grow("r0c1", "copy_block_plain");
  const auto all = parameters_of(deepening.network);
  CHECK(same_bits(all.at("seed-0001.mlp.up.weight"), all.at("host.layer1.mlp.up.weight")));
  CHECK(same_bits(all.at("seed-0002.mlp.up.weight"), all.at("host.layer3.mlp.up.weight")));
}

TEST_CASE("what was copied is said while the seed grows; a composition's gate is not a copy") {
  auto growth = copies_only();
  growth.composition = config::Composition::kGate;
  Deepening deepening(decoder(2, 2), growth);
  deepening.grow("r0c1", "copy_block");
  const auto copies = deepening.network.parameter_groups().at(1).copies;
  CHECK(copies.size() == kTensorsOfBlock);
  for (const auto& copy : copies) {
    INFO(copy.id);
    CHECK(copy.source == "host.layer1" + copy.id.substr(copy.id.find('.')));
    CHECK((copy.kind == CopyKind::kZeroed) == is_on_residual_path(copy.id));
  }
  CHECK(deepening.network.parameter_groups().at(0).copies.empty());
  fossilize(deepening.network, "seed-0001");
  CHECK(deepening.network.parameter_groups().at(1).copies.empty());
}

TEST_CASE("a saved network with a copied block is rebuilt") {
  Deepening deepening(decoder(2, 2));
  deepening.grow("r0c0", "copy_block_plain");
  stir(deepening.network);
  fossilize(deepening.network, "seed-0001");
  Deepening other(decoder(2, 2));
  other.network.restore_topology(deepening.network.save_topology());
  const auto from = parameters_of(deepening.network);
  for (const auto& [id, tensor] : parameters_of(other.network)) {
    const at::NoGradGuard no_grad;
    torch::Tensor(tensor).copy_(from.at(id));
  }
  other.probe = deepening.probe;
  CHECK(same_bits(other.output(), deepening.output()));
}

TEST_CASE("copies are grown only where the run names them") {
  const auto blueprints_at_first_slot = [](const std::vector<std::string>& named) {
    config::GrowthConfig growth;
    growth.blueprints = named;
    return Network(decoder(2, 2), growth, text(), 7, torch::kCPU).export_slots().at(0).blueprints;
  };
  for (const auto& name : blueprints_at_first_slot({})) CHECK_FALSE(name.starts_with("copy_block"));
  CHECK(blueprints_at_first_slot({"copy_block"}) == std::vector<std::string>{"copy_block"});
}

TEST_CASE("in host.modules it is a block of the host with initial values of its own") {
  auto host = decoder(2, 2);
  host.modules = {"r0c0=copy_block"};
  const Network network(host, {}, text(), 7, torch::kCPU);
  const auto all = parameters_of(network);
  CHECK_FALSE(at::equal(all.at("seed-0001.mlp.up.weight"), all.at("host.layer0.mlp.up.weight")));
  CHECK(all.at("seed-0001.attention.proj.weight").abs().max().item<float>() > 0);
  CHECK(all.size() == parameters_of(Network(decoder(3, 2), {}, text(), 7, torch::kCPU)).size());
}

}  // namespace esper::kasmina
