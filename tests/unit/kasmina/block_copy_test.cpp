// Depth that is grown: copies of a host's blocks behind them.

#include "kasmina/seed/block_copy.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "kasmina/network/network_seeds.h"
#include "kasmina/slot/topology.h"
#include "support/models/grown_network.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina::block_copy_test {
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
  explicit Deepening(const config::HostConfig& host, const config::GrowthConfig& growth = copies_only(),
                     const leyline::SampleShape& sample = text())
      : network(host, growth, sample, 7, torch::kCPU), probe(tests::inputs_of(sample, 4)) {
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
  torch::Tensor probe;
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
  seed.kind = {find_blueprint("copy_block_plain", FeatureKind::kSequence)};
  seed.module = build_seed(seed.kind, host.sites[1], seed.id, 7, torch::kCPU);
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

TEST_CASE("copied blocks at alpha 1 are the deeper transformer with these weights: logits and gradients") {
  using Prefixes = std::map<std::string, std::string>;
  struct Case {
    std::string blueprint;
    std::int64_t layers;
    Prefixes sources;  // of the static network's layers in the grown one
  };
  const auto [blueprint, layers, sources] =
      GENERATE(Case{"copy_block_plain", 3, Prefixes{{"host.layer1", "seed-0001"}, {"host.layer2", "host.layer1"}}},
               Case{"copy_block_plain*2", 4,
                    Prefixes{{"host.layer1", "seed-0001.copy0"},
                             {"host.layer2", "seed-0001.copy1"},
                             {"host.layer3", "host.layer1"}}});
  Deepening grown(decoder(2, 2));
  grown.grow("r0c0", blueprint);
  stir(grown.network);  // else a copy that was mixed up with its source would not show
  fossilize(grown.network, "seed-0001");
  const Network stacked(decoder(layers, 1), {}, text(), 7, torch::kCPU);
  const auto from = parameters_of(grown.network), to = parameters_of(stacked);
  REQUIRE(from.size() == to.size());
  Tensors pairs;
  for (const auto& [id, tensor] : to) {
    const auto moved = sources.find(id.substr(0, std::string("host.layer0").size()));
    const auto source = moved == sources.end() ? id : moved->second + id.substr(moved->first.size());
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

TEST_CASE("several copies are the identity at birth and copy the same block") {
  Deepening deepening(decoder(2, 2));
  const auto before = deepening.output();
  const auto events = deepening.grow("r0c1", "copy_block*3");
  CHECK(value_of(events.front(), "change_at_full_alpha") <= 1e-6);
  CHECK(events.back().blueprint == "copy_block*3");
  CHECK(export_seed_states(deepening.network.state()).at(0).blueprint == "copy_block*3");
  const auto all = parameters_of(deepening.network);
  for (const auto* copy : {"copy0", "copy1", "copy2"}) {
    const std::string prefix = std::string("seed-0001.") + copy;
    CHECK(same_bits(all.at(prefix + ".mlp.up.weight"), all.at("host.layer1.mlp.up.weight")));
    CHECK(all.at(prefix + ".mlp.down.weight").abs().max().item<float>() == 0);
  }
  CHECK(deepening.network.parameter_groups().at(1).copies.size() == 3 * kTensorsOfBlock);
  fossilize(deepening.network, "seed-0001");
  CHECK(relative_change(deepening.output(), before) <= 1e-6);
}

TEST_CASE("a number of copies is rejected where it makes no sense") {
  Deepening deepening(decoder(2, 2));
  const auto code_of = [&](const std::string& blueprint) {
    return deepening.network.apply(tests::germination(++deepening.commands, "r0c0", blueprint), deepening.probe)
        .back()
        .code;
  };
  CHECK(code_of("copy_block*0") == "unknown_blueprint");
  CHECK(code_of("copy_block*65") == "unknown_blueprint");
  CHECK(code_of("copy_block*two") == "unknown_blueprint");
  CHECK(code_of("attention*2") == "blueprint_does_not_fit");
}

namespace {

leyline::SampleShape pictures() { return leyline::image_shape(3, 8, 8, 5); }

config::HostConfig residual_cnn(std::int64_t residual_blocks) {
  config::HostConfig host;
  host.kind = config::HostKind::kCnn;
  host.blocks = 2;
  host.pool_layers = 1;
  host.base_channels = 4;
  host.residual_blocks = residual_blocks;
  return host;
}

Tensors tensors_of(const Network& network) {
  auto all = parameters_of(network);
  for (const auto& [id, tensor] : network.buffers()) all[id] = tensor;
  return all;
}

// Batch norm's statistics move away from their start.
void train_forward(Deepening& deepening) {
  const at::NoGradGuard no_grad;
  for (int i = 0; i < 5; ++i) deepening.network.forward(deepening.probe, Mode::kTrain);
}

}  // namespace

TEST_CASE("a copied residual block is the identity at birth, with its block's weights and batch norm statistics") {
  Deepening deepening(residual_cnn(1), copies_only(), pictures());
  train_forward(deepening);
  const auto before = deepening.output();
  const auto events = deepening.grow("r0c1", "copy_block");
  CHECK(value_of(events.front(), "change_at_full_alpha") <= 1e-6);
  const auto all = tensors_of(deepening.network);
  const std::string source = "host.block1.residual0";
  CHECK(all.at("seed-0001.norm2.weight").abs().max().item<float>() == 0);
  CHECK(all.at("seed-0001.norm2.bias").abs().max().item<float>() == 0);
  for (const auto* name : {".conv1.weight", ".conv2.weight", ".norm1.weight", ".norm1.running_mean",
                           ".norm1.running_var", ".norm1.num_batches_tracked", ".norm2.running_var"}) {
    INFO(name);
    CHECK(at::equal(all.at("seed-0001" + std::string(name)), all.at(source + name)));
  }
  CHECK(all.at(source + ".norm1.running_mean").abs().max().item<float>() > 0);
  fossilize(deepening.network, "seed-0001");
  CHECK(relative_change(deepening.output(), before) <= 1e-6);
}

TEST_CASE("copied residual blocks at alpha 1 are the deeper cnn with these weights and statistics") {
  Deepening grown(residual_cnn(1), copies_only(), pictures());
  train_forward(grown);
  grown.grow("r0c0", "copy_block_plain*2");
  grown.grow("r0c1", "copy_block_plain*2");
  stir(grown.network);
  for (const auto* seed : {"seed-0001", "seed-0002"}) fossilize(grown.network, seed);
  const Network stacked(residual_cnn(3), {}, pictures(), 7, torch::kCPU);
  const auto from = tensors_of(grown.network), to = tensors_of(stacked);
  REQUIRE(from.size() == to.size());
  const std::map<std::string, std::string> sources = {{"host.block0.residual1", "seed-0001.copy0"},
                                                      {"host.block0.residual2", "seed-0001.copy1"},
                                                      {"host.block1.residual1", "seed-0002.copy0"},
                                                      {"host.block1.residual2", "seed-0002.copy1"}};
  const at::NoGradGuard no_grad;
  for (const auto& [id, tensor] : to) {
    const auto moved = sources.find(id.substr(0, std::string("host.block0.residual0").size()));
    const auto source = moved == sources.end() ? id : moved->second + id.substr(moved->first.size());
    torch::Tensor(tensor).copy_(from.at(source));
  }
  CHECK(relative_change(grown.output(), stacked.forward(grown.probe, Mode::kEvaluate)) < 1e-5);
  CHECK(relative_change(grown.network.forward(grown.probe, Mode::kTrain), stacked.forward(grown.probe, Mode::kTrain)) <
        1e-5);
}

TEST_CASE("the blocks of a cnn without residual blocks are not copied, and the reason says what to do") {
  Deepening deepening(residual_cnn(0), {}, pictures());
  const auto refused = deepening.network.apply(tests::germination(1, "r0c1", "copy_block"), deepening.probe).back();
  CHECK(refused.code == "blueprint_does_not_fit");
  CHECK(refused.reason.find("host.residual_blocks") != std::string::npos);
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
    return export_slots(Network(decoder(2, 2), growth, text(), 7, torch::kCPU).state()).at(0).blueprints;
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

}  // namespace esper::kasmina::block_copy_test
