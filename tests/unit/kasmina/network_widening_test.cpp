// Where blocks may be widened, and how a widening becomes part of the host: then it is the wide network.

#include "kasmina/network/network_widening.h"

#include <ATen/ops/batch_norm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "kasmina/change.h"
#include "kasmina/fold/network_fold.h"
#include "kasmina/network/network_seeds.h"
#include "kasmina/slot/topology.h"
#include "leyline/seed_command.h"
#include "unit/kasmina/wide_network.h"

namespace esper::kasmina::network_widening_test {
namespace {

using Catch::Matchers::ContainsSubstring;

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
  network.restore_topology(with_stage(network.save_topology(), kWideSeed, Stage::kFossilized));
}

}  // namespace

TEST_CASE("FOSSILIZE parts the shared weights and keeps the function; undone, it leaves no trace") {
  for (const WideCase& c : wide_cases()) {
    CAPTURE(c.name, c.slot);
    Wide wide(c);
    wide.grow(c.slot);
    wide.bring_to_trial();
    {
      const at::NoGradGuard no_grad;
      for (const auto& [id, tensor] : wide.parameters()) {
        if (id.starts_with(kWideSeed)) torch::Tensor(tensor).add_(at::randn(tensor.sizes()), 0.05);
      }
    }
    const auto shared = shared_columns(wide.network.state(), kWideSeed);
    REQUIRE(shared);
    const auto output = wide.output(), weight = wide.parameters().at(shared->host).detach().clone();
    const auto command = wide.command(SeedOperation::kFossilize);
    {
      auto change_of = wide.network.open_change();
      REQUIRE_FALSE(Growing::rejected(change_of.apply(command, wide.probe)));
      CHECK(relative_change_of(wide.output(), output) <= 1e-5);
      change_of.roll_back();
    }
    CHECK(same_bits(wide.output(), output));
    CHECK(same_bits(wide.parameters().at(shared->host), weight));
    const auto events = wide.network.apply(command, wide.probe);
    REQUIRE_FALSE(Growing::rejected(events));
    CHECK_THAT(events.back().reason, ContainsSubstring("its columns were subtracted from " + shared->host));
    CHECK(relative_change_of(wide.output(), output) <= 1e-5);
    CHECK_FALSE(same_bits(wide.parameters().at(shared->host), weight));
    CHECK_FALSE(shared_columns(wide.network.state(), kWideSeed));
  }
}

TEST_CASE("KEEP parts the shared weights as FOSSILIZE does: the network is that of alpha 1") {
  for (const WideCase& c : wide_cases()) {
    CAPTURE(c.name, c.slot);
    Wide wide(c);
    wide.grow(c.slot);
    REQUIRE_FALSE(Growing::rejected(wide.network.apply(wide.command(SeedOperation::kStartTraining), wide.probe)));
    wide.stir();
    const auto growing = wide.output();
    wide.set_alpha(1);
    const auto whole = wide.output();
    wide.set_alpha(export_seed_states(wide.network.state()).at(0).figures.alpha);
    REQUIRE(same_bits(wide.output(), growing));
    const auto command = wide.command(SeedOperation::kKeep);
    auto partly = command;
    partly.seed_operation->parameters[leyline::kKeptAlpha] = 0.5;
    CHECK(wide.network.apply(partly, wide.probe).back().code == "invalid_parameter");
    CHECK(same_bits(wide.output(), growing));
    {
      auto change_of = wide.network.open_change();
      REQUIRE_FALSE(Growing::rejected(change_of.apply(command, wide.probe)));
      CHECK(relative_change_of(wide.output(), whole) <= 1e-5);
      change_of.roll_back();
    }
    CHECK(same_bits(wide.output(), growing));
    REQUIRE_FALSE(Growing::rejected(wide.network.apply(command, wide.probe)));
    CHECK(relative_change_of(wide.output(), whole) <= 1e-5);
  }
}

TEST_CASE("a widened mlp that fossilised is the wide mlp with these weights: logits and gradients") {
  const WideCase c = dense();
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
  CHECK(relative_change_of(logits, expected) <= 1e-5);
  check_gradient(weight, all.at("host.block1.linear.weight"), all.at("seed-0001.linear.weight"), 0);
  check_gradient(bias, all.at("host.block1.linear.bias"), all.at("seed-0001.linear.bias"), 0);
  check_gradient(next, all.at("host.block2.linear.weight"), all.at("seed-0001.outlet.weight"), 1);
}

TEST_CASE("a widened cnn that fossilised is the wide cnn with these weights: logits and gradients") {
  const WideCase c = conv("r0c1");
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
  CHECK(relative_change_of(logits, expected) <= 1e-5);
  check_gradient(weight, all.at("host.block1.conv.weight"), all.at("seed-0001.conv.weight"), 0);
  check_gradient(gain, all.at("host.block1.norm.weight"), all.at("seed-0001.norm.weight"), 0);
  check_gradient(shift, all.at("host.block1.norm.bias"), all.at("seed-0001.norm.bias"), 0);
  check_gradient(next, all.at("host.block2.conv.weight"), all.at("seed-0001.outlet.weight"), 1);
}

TEST_CASE("a growing widening is removed without a trace, one that fossilised cannot be") {
  const auto growth = widening_growth();
  for (const WideCase& c : wide_cases()) {
    CAPTURE(c.name, c.slot);
    Wide wide(c);
    const auto before = wide.output();
    wide.grow(c.slot);
    wide.bring_to_trial();
    wide.network.restore_topology(without_seed(wide.network.save_topology(), kWideSeed, growth));
    CHECK(same_bits(wide.output(), before));
  }
  Wide wide(dense());
  wide.grow("r0c1");
  make_fossil(wide.network);
  try {
    without_seed(wide.network.save_topology(), kWideSeed, growth);
    FAIL("not rejected");
  } catch (const base::Error& error) {
    CHECK_THAT(error.what(), ContainsSubstring("seed-0001 widens the host"));
  }
}

TEST_CASE("a topology with a widening to come trains it blended where other seeds train in the shadow") {
  auto growth = widening_growth();
  growth.training = config::SeedTraining::kShadow;
  Wide wide(dense(), growth);
  const auto born = with_seed(wide.network.save_topology(), "r0c1", "widen", growth);
  wide.network.restore_topology(with_stage(born, kWideSeed, Stage::kTraining));
  CHECK_FALSE(wide.network.parameter_groups().at(1).in_shadow);
  CHECK(wide.output(Mode::kTrain).isfinite().all().item<bool>());
}

TEST_CASE("units come neither in copies nor before a cnn's residual blocks") {
  Wide wide(conv("r0c1"));
  const auto events = wide.grow("r0c1", "widen*2");
  CHECK(events.back().code == "blueprint_does_not_fit");
  CHECK_THAT(events.back().reason, ContainsSubstring("come in numbers"));
  auto residual = conv("r0c1");
  residual.host.residual_blocks = 1;
  CHECK_THROWS_AS(Wide(residual), base::Error);
}

TEST_CASE("blocks are widened from the output towards the input, those of a transformer in any order") {
  Wide forwards(dense());
  REQUIRE_FALSE(Growing::rejected(forwards.grow("r0c0")));
  CHECK(export_slots(forwards.network.state()).at(1).blueprints.empty());
  const auto events = forwards.grow("r0c1");
  CHECK(events.back().code == "blueprint_does_not_fit");
  CHECK_THAT(events.back().reason, ContainsSubstring("r0c0, was widened first"));
  REQUIRE_FALSE(Growing::rejected(forwards.grow("r0c2")));

  Wide backwards(dense());
  const auto before = backwards.output();
  for (const std::string slot : {"r0c2", "r0c1", "r0c0"}) REQUIRE_FALSE(Growing::rejected(backwards.grow(slot)));
  CHECK(relative_change_of(backwards.output(), before) <= 1e-5);

  Wide text(decoder_text());
  for (const std::string slot : {"r0c0", "r0c1"}) REQUIRE_FALSE(Growing::rejected(text.grow(slot)));
}

TEST_CASE("a linear fossil is not folded into a block whose further units take the slot's output too") {
  auto growth = widening_growth();
  growth.blueprints = {"widen", "linear"};
  Wide wide(dense(), growth);
  REQUIRE_FALSE(Growing::rejected(wide.grow("r0c0", "linear")));
  CHECK(fold_plan(wide.network.state(), kWideSeed));
  REQUIRE_FALSE(Growing::rejected(wide.grow("r0c1")));
  CHECK_FALSE(fold_plan(wide.network.state(), kWideSeed));
}

}  // namespace esper::kasmina::network_widening_test
