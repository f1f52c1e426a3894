// Width that is grown: further units of a block of each kind of host.

#include "kasmina/widening.h"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "kasmina/change.h"
#include "kasmina/topology.h"
#include "support/grown_network.h"
#include "unit/kasmina/growing.h"

namespace esper::kasmina {
namespace {

using Catch::Matchers::ContainsSubstring;
using Tensors = std::map<std::string, torch::Tensor>;

constexpr const char* kSeed = "seed-0001";
constexpr std::int64_t kRows = 6;

struct Case {
  std::string name;
  config::HostConfig host;
  leyline::SampleShape sample;
  std::string slot;
};

Case dense() {
  Case c{"mlp", {}, leyline::features_shape(5, 3), "r0c1"};
  c.host.hidden = {8, 6, 7};
  return c;
}

// The block behind the slot is a convolution or, at the last one, the head behind the mean.
Case conv(const std::string& slot) {
  Case c{"cnn", {}, leyline::image_shape(2, 8, 8, 3), slot};
  c.host.kind = config::HostKind::kCnn;
  c.host.blocks = 3;
  c.host.base_channels = 4;
  c.host.pool_layers = 2;
  return c;
}

Case decoder() {
  Case c{"transformer", {}, leyline::tokens_shape(7, 11), "r0c0"};
  c.host.kind = config::HostKind::kTransformer;
  c.host.layers = c.host.segments = 2;
  c.host.embedding = 16;
  c.host.heads = 2;
  return c;
}

config::GrowthConfig widening_growth() {
  config::GrowthConfig growth;
  growth.blueprints = {"widen", "widen_half"};
  growth.max_seeds = 3;
  growth.gates.evidence = config::Evidence::kNone;
  growth.gates.min_training_epochs = growth.gates.min_blending_epochs = 1;
  return growth;
}

struct Wide {
  explicit Wide(const Case& c, const config::GrowthConfig& growth = widening_growth())
      : network(c.host, growth, c.sample, 7, torch::kCPU) {
    at::manual_seed(2);
    probe = tests::inputs_of(c.sample, kRows);
    stir();
  }
  Tensors parameters() const {
    Tensors all;
    for (const auto& group : network.parameter_groups()) {
      for (const auto& [id, tensor] : group.parameters) all[id] = tensor;
    }
    return all;
  }
  Tensors buffers() const {
    Tensors all;
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
    made.target_seed_id = kSeed;
    made.seed_operation->operation = operation;
    return made;
  }
  void end_epoch() {
    EpochFacts facts;
    facts.epoch = ++epoch;
    facts.validation_accuracy = 0.8;
    facts.validation_loss = 0.5;
    facts.host_gradient_norm = 1;
    facts.seeds.push_back({kSeed, 1.0, 0.7, 0.9});
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
      if (id == std::string(kSeed) + ".alpha") torch::Tensor(tensor).fill_(alpha);
    }
  }

  Network network;
  torch::Tensor probe;
  int commands = 0;
  std::uint32_t epoch = 0;
};

double change(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max().clamp_min(1e-12)).item<double>();
}

std::vector<Case> all_cases() { return {dense(), conv("r0c0"), conv("r0c2"), decoder()}; }

// A leaf of rows or columns of two leaves.
torch::Tensor leaf(const torch::Tensor& host, const torch::Tensor& further, std::int64_t dimension) {
  return at::cat({host.detach(), further.detach()}, dimension).requires_grad_();
}

void check_gradient(const torch::Tensor& wide, const torch::Tensor& host, const torch::Tensor& further,
                    std::int64_t dimension) {
  const auto gradient = at::cat({host.grad(), further.grad()}, dimension);
  CHECK((gradient - wide.grad()).norm().item<double>() <= 1e-4 * wide.grad().norm().item<double>());
  CHECK(wide.grad().norm().item<double>() > 0);
}

void make_fossil(Network& network) {
  network.restore_topology(with_stage(network.save_topology(), kSeed, Stage::kFossilized));
}

}  // namespace

TEST_CASE("a widening keeps the function at every alpha, evaluating and training") {
  for (const Case& c : all_cases()) {
    CAPTURE(c.name, c.slot);
    for (const std::string blueprint : {"widen", "widen_half"}) {
      Wide wide(c);
      const auto before = wide.output();
      const auto events = wide.grow(c.slot, blueprint);
      INFO(events.back().reason);
      REQUIRE_FALSE(Growing::rejected(events));
      CHECK(same_bits(wide.output(), before));
      const Wide plain(c);
      for (const double alpha : {0.0, 0.5, 1.0}) {
        wide.set_alpha(alpha);
        CHECK(change(wide.output(), before) <= 1e-5);
        CHECK(change(wide.output(Mode::kTrainReadOnly), plain.output(Mode::kTrainReadOnly)) <= 1e-5);
      }
      // Not because nothing is there.
      const at::NoGradGuard no_grad;
      for (const auto& group : wide.network.parameter_groups()) {
        if (group.id != kSeed) continue;
        for (const auto& named : group.parameters) torch::Tensor(named.tensor).add_(at::randn(named.tensor.sizes()));
      }
      CHECK(change(wide.output(), before) > 1e-3);
    }
  }
}

TEST_CASE("the statistics of batch norm are copied, and go on like their originals'") {
  Wide wide(conv("r0c1"));
  wide.grow("r0c1");
  wide.output(Mode::kTrain);
  const auto all = wide.buffers();
  for (const std::string name : {"running_mean", "running_var"}) {
    const auto &own = all.at("seed-0001.norm." + name), &host = all.at("host.block1.norm." + name);
    CHECK(own.sizes() == host.sizes());
    CHECK(change(own, host) <= 1e-6);
  }
  CHECK(at::equal(all.at("seed-0001.norm.num_batches_tracked"), all.at("host.block1.norm.num_batches_tracked")));
}

TEST_CASE("original and copy share the outgoing weights unequally, so that they part") {
  Wide wide(dense());
  wide.grow("r0c1");
  const auto all = wide.parameters();
  CHECK(same_bits(all.at("seed-0001.linear.weight"), all.at("host.block1.linear.weight")));
  const auto share = all.at("seed-0001.outlet.weight") / all.at("host.block2.linear.weight");
  CHECK(share.min().item<double>() >= 0.25 - 1e-5);
  CHECK(share.max().item<double>() <= 0.75 + 1e-5);
  CHECK(share.std().item<double>() > 0.05);
}

TEST_CASE("FOSSILIZE parts the shared weights and keeps the function; undone, it leaves no trace") {
  for (const Case& c : all_cases()) {
    CAPTURE(c.name, c.slot);
    Wide wide(c);
    wide.grow(c.slot);
    wide.bring_to_trial();
    {
      const at::NoGradGuard no_grad;
      for (const auto& [id, tensor] : wide.parameters()) {
        if (id.starts_with(kSeed)) torch::Tensor(tensor).add_(at::randn(tensor.sizes()), 0.05);
      }
    }
    const auto shared = wide.network.shared_columns(kSeed);
    REQUIRE(shared);
    const auto output = wide.output(), weight = wide.parameters().at(shared->host).detach().clone();
    const auto command = wide.command(SeedOperation::kFossilize);
    {
      Change change_of(wide.network);
      REQUIRE_FALSE(Growing::rejected(change_of.apply(command, wide.probe)));
      CHECK(change(wide.output(), output) <= 1e-5);
      change_of.roll_back();
    }
    CHECK(same_bits(wide.output(), output));
    CHECK(same_bits(wide.parameters().at(shared->host), weight));
    REQUIRE_FALSE(Growing::rejected(wide.network.apply(command, wide.probe)));
    CHECK(change(wide.output(), output) <= 1e-5);
    CHECK_FALSE(same_bits(wide.parameters().at(shared->host), weight));
    CHECK_FALSE(wide.network.shared_columns(kSeed));
  }
}

TEST_CASE("a widened mlp that fossilised is the wide mlp with these weights: logits and gradients") {
  const Case c = dense();
  Wide wide(c);
  wide.grow("r0c1");
  wide.stir();
  make_fossil(wide.network);
  const auto all = wide.parameters();
  const auto weight = leaf(all.at("host.block1.linear.weight"), all.at("seed-0001.linear.weight"), 0);
  const auto bias = leaf(all.at("host.block1.linear.bias"), all.at("seed-0001.linear.bias"), 0);
  const auto next = leaf(all.at("host.block2.linear.weight"), all.at("seed-0001.outlet.weight"), 1);
  const auto of = [&](const std::string& layer, const torch::Tensor& x) {
    return at::linear(x, all.at(layer + ".weight").detach(), all.at(layer + ".bias").detach());
  };
  const auto hidden = at::relu(at::linear(at::relu(of("host.block0.linear", wide.probe)), weight, bias));
  const auto last = at::relu(at::linear(hidden, next, all.at("host.block2.linear.bias").detach()));
  const auto expected = of("host.head", last);
  const auto targets = tests::targets_of(c.sample, kRows);
  at::cross_entropy_loss(expected, targets).backward();
  const auto logits = wide.network.forward(wide.probe, Mode::kTrain);
  at::cross_entropy_loss(logits, targets).backward();
  CHECK(change(logits, expected) <= 1e-5);
  check_gradient(weight, all.at("host.block1.linear.weight"), all.at("seed-0001.linear.weight"), 0);
  check_gradient(bias, all.at("host.block1.linear.bias"), all.at("seed-0001.linear.bias"), 0);
  check_gradient(next, all.at("host.block2.linear.weight"), all.at("seed-0001.outlet.weight"), 1);
}

TEST_CASE("a widened cnn that fossilised is the wide cnn with these weights: logits and gradients") {
  const Case c = conv("r0c1");
  Wide wide(c);
  wide.grow("r0c1");
  wide.stir();
  make_fossil(wide.network);
  const auto all = wide.parameters();
  const auto weight = leaf(all.at("host.block1.conv.weight"), all.at("seed-0001.conv.weight"), 0);
  const auto gain = leaf(all.at("host.block1.norm.weight"), all.at("seed-0001.norm.weight"), 0);
  const auto shift = leaf(all.at("host.block1.norm.bias"), all.at("seed-0001.norm.bias"), 0);
  const auto next = leaf(all.at("host.block2.conv.weight"), all.at("seed-0001.outlet.weight"), 1);
  const auto block = [](const torch::Tensor& x, const torch::Tensor& w, const torch::Tensor& a,
                        const torch::Tensor& b) {
    const auto y = at::conv2d(x, w, {}, 1, 1);
    return at::relu(at::batch_norm(y, a, b, {}, {}, true, 0.1, 1e-5, false));
  };
  const auto host = [&](const std::string& id) { return all.at("host." + id).detach(); };
  const auto first = at::max_pool2d(
      block(wide.probe, host("block0.conv.weight"), host("block0.norm.weight"), host("block0.norm.bias")), 2);
  const auto hidden = at::max_pool2d(block(first, weight, gain, shift), 2);
  const auto last = block(hidden, next, host("block2.norm.weight"), host("block2.norm.bias"));
  const auto expected = at::linear(last.mean({2, 3}), host("head.weight"), host("head.bias"));
  const auto targets = tests::targets_of(c.sample, kRows);
  at::cross_entropy_loss(expected, targets).backward();
  const auto logits = wide.network.forward(wide.probe, Mode::kTrain);
  at::cross_entropy_loss(logits, targets).backward();
  CHECK(change(logits, expected) <= 1e-5);
  check_gradient(weight, all.at("host.block1.conv.weight"), all.at("seed-0001.conv.weight"), 0);
  check_gradient(gain, all.at("host.block1.norm.weight"), all.at("seed-0001.norm.weight"), 0);
  check_gradient(shift, all.at("host.block1.norm.bias"), all.at("seed-0001.norm.bias"), 0);
  check_gradient(next, all.at("host.block2.conv.weight"), all.at("seed-0001.outlet.weight"), 1);
}

TEST_CASE("stacked configurations with widened blocks are the networks one by one") {
  for (const Case& c : all_cases()) {
    CAPTURE(c.name, c.slot);
    Wide wide(c);
    wide.grow(c.slot);
    wide.stir();
    const std::vector<double> alphas = {0, 0.5, 1, 0.25};
    std::vector<Configuration> configurations;
    for (const double alpha : alphas) configurations.push_back({{kSeed, alpha}});
    const auto plan = wide.network.plan_stacked(configurations);
    const at::NoGradGuard no_grad;
    const auto stacked = wide.network.forward_stacked(wide.probe, plan).unflatten(0, {plan.groups, kRows});
    for (std::size_t i = 0; i < alphas.size(); ++i) {
      CAPTURE(alphas[i]);
      wide.set_alpha(alphas[i]);
      CHECK(change(stacked.select(0, plan.group_of[i]), wide.output()) <= 1e-5);
    }
  }
}

TEST_CASE("a saved network with a widened block is rebuilt, growing or fossilised") {
  for (const Case& c : all_cases()) {
    for (const bool fossilises : {false, true}) {
      CAPTURE(c.name, c.slot, fossilises);
      Wide wide(c), other(c);
      wide.grow(c.slot);
      wide.bring_to_trial();
      if (fossilises) wide.network.apply(wide.command(SeedOperation::kFossilize), wide.probe);
      other.network.restore_topology(wide.network.save_topology());
      const at::NoGradGuard no_grad;
      const auto parameters = wide.parameters(), buffers = wide.buffers();
      for (const auto& [id, tensor] : other.parameters()) torch::Tensor(tensor).copy_(parameters.at(id));
      for (const auto& [id, tensor] : other.buffers()) torch::Tensor(tensor).copy_(buffers.at(id));
      other.probe = wide.probe;
      CHECK(same_bits(other.output(), wide.output()));
      CHECK(same_bits(other.output(Mode::kTrain), wide.output(Mode::kTrain)));
    }
  }
}

TEST_CASE("a growing widening is removed without a trace, one that fossilised cannot be") {
  const auto growth = widening_growth();
  for (const Case& c : all_cases()) {
    CAPTURE(c.name, c.slot);
    Wide wide(c);
    const auto before = wide.output();
    wide.grow(c.slot);
    wide.bring_to_trial();
    wide.network.restore_topology(without_seed(wide.network.save_topology(), kSeed, growth));
    CHECK(same_bits(wide.output(), before));
  }
  Wide wide(dense());
  wide.grow("r0c1");
  make_fossil(wide.network);
  try {
    without_seed(wide.network.save_topology(), kSeed, growth);
    FAIL("not rejected");
  } catch (const base::Error& error) {
    CHECK_THAT(error.what(), ContainsSubstring("seed-0001 widens the host"));
  }
}

TEST_CASE("blocks are widened from the output towards the input, those of a transformer in any order") {
  Wide forwards(dense());
  REQUIRE_FALSE(Growing::rejected(forwards.grow("r0c0")));
  CHECK(forwards.network.export_slots().at(1).blueprints.empty());
  const auto events = forwards.grow("r0c1");
  CHECK(events.back().code == "blueprint_does_not_fit");
  CHECK_THAT(events.back().reason, ContainsSubstring("r0c0, was widened first"));
  REQUIRE_FALSE(Growing::rejected(forwards.grow("r0c2")));

  Wide backwards(dense());
  const auto before = backwards.output();
  for (const std::string slot : {"r0c2", "r0c1", "r0c0"}) REQUIRE_FALSE(Growing::rejected(backwards.grow(slot)));
  CHECK(change(backwards.output(), before) <= 1e-5);

  Wide text(decoder());
  for (const std::string slot : {"r0c0", "r0c1"}) REQUIRE_FALSE(Growing::rejected(text.grow(slot)));
}

TEST_CASE("a linear fossil is not folded into a block whose further units take the slot's output too") {
  auto growth = widening_growth();
  growth.blueprints = {"widen", "linear"};
  Wide wide(dense(), growth);
  REQUIRE_FALSE(Growing::rejected(wide.grow("r0c0", "linear")));
  CHECK(wide.network.fold_plan(kSeed));
  REQUIRE_FALSE(Growing::rejected(wide.grow("r0c1")));
  CHECK_FALSE(wide.network.fold_plan(kSeed));
}

TEST_CASE("a widening trains blended under any composition and form of training, and only where it is named") {
  auto growth = widening_growth();
  growth.composition = config::Composition::kGate;
  growth.training = config::SeedTraining::kShadow;
  Wide wide(dense(), growth);
  REQUIRE_FALSE(Growing::rejected(wide.grow("r0c1")));
  CHECK(wide.parameters().size() == 8 + 3);  // no gate
  REQUIRE_FALSE(Growing::rejected(wide.network.apply(wide.command(SeedOperation::kStartTraining), wide.probe)));
  CHECK_FALSE(wide.network.parameter_groups().at(1).in_shadow);
  const auto names = Network(dense().host, {}, dense().sample, 7, torch::kCPU).export_slots().at(0).blueprints;
  CHECK(std::ranges::find(names, "widen") == names.end());
}

TEST_CASE("in host.modules it is a layer that is wider from the start, with values of its own") {
  for (const Case& c : all_cases()) {
    CAPTURE(c.name, c.slot);
    auto host = c.host;
    host.modules = {c.slot + "=widen"};
    const Network network(host, {}, c.sample, 7, torch::kCPU);
    const auto probe = tests::inputs_of(c.sample, kRows);
    const auto logits = network.forward(probe, Mode::kTrain);
    logits.square().mean().backward();
    for (const auto& [id, tensor] : network.parameter_groups().at(1).parameters) {
      INFO(id);
      CHECK(tensor.grad().abs().max().item<double>() > 0);
    }
  }
}

TEST_CASE("the table counts a widening's parameters") {
  auto mlp = dense();
  mlp.host.hidden = {8, 8, 8};
  const auto count = [](const Case& c, const std::string& blueprint) {
    Wide wide(c);
    wide.grow(c.slot, blueprint);
    return wide.network.export_seed_states().at(0).figures.params;
  };
  for (const std::string blueprint : {"widen", "widen_half"}) {
    const auto counted = [&](const FeatureShape& shape) {
      return find_blueprint(blueprint, shape.kind)->num_parameters(shape);
    };
    CHECK(count(mlp, blueprint) == counted({.kind = FeatureKind::kFeatures, .channels = 8}));
    CHECK(count(decoder(), blueprint) == counted({.kind = FeatureKind::kSequence, .channels = 16, .tokens = 7}));
  }
  CHECK(count(conv("r0c1"), "widen_half") == 4 * (9 * 4 + 2 + 9 * 16));
}

}  // namespace esper::kasmina
