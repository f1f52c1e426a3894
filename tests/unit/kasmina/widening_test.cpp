// Width that is grown: further units of a block of each kind of host.

#include "kasmina/seed/widening.h"

#include <nlohmann/json.hpp>

#include "kasmina/network/network_seeds.h"
#include "kasmina/network/network_stacked.h"
#include "unit/kasmina/wide_network.h"

namespace esper::kasmina::widening_test {

TEST_CASE("a widening keeps the function at every alpha, evaluating and training") {
  for (const WideCase& c : wide_cases()) {
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
        CHECK(relative_change_of(wide.output(), before) <= 1e-5);
        CHECK(relative_change_of(wide.output(Mode::kTrainReadOnly), plain.output(Mode::kTrainReadOnly)) <= 1e-5);
      }
      // Not because nothing is there.
      const at::NoGradGuard no_grad;
      for (const auto& group : wide.network.parameter_groups()) {
        if (group.id != kWideSeed) continue;
        for (const auto& named : group.parameters) torch::Tensor(named.tensor).add_(at::randn(named.tensor.sizes()));
      }
      CHECK(relative_change_of(wide.output(), before) > 1e-3);
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
    CHECK(relative_change_of(own, host) <= 1e-6);
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

TEST_CASE("stacked configurations with widened blocks are the networks one by one") {
  for (const WideCase& c : wide_cases()) {
    CAPTURE(c.name, c.slot);
    Wide wide(c);
    wide.grow(c.slot);
    wide.stir();
    const std::vector<double> alphas = {0, 0.5, 1, 0.25};
    std::vector<Configuration> configurations;
    for (const double alpha : alphas) configurations.push_back({{kWideSeed, alpha}});
    const auto plan = plan_stacked(wide.network.state(), configurations);
    const at::NoGradGuard no_grad;
    const auto stacked = forward_stacked(wide.network.state(), wide.probe, plan).unflatten(0, {plan.groups, kRows});
    for (std::size_t i = 0; i < alphas.size(); ++i) {
      CAPTURE(alphas[i]);
      wide.set_alpha(alphas[i]);
      CHECK(relative_change_of(stacked.select(0, plan.group_of[i]), wide.output()) <= 1e-5);
    }
  }
}

TEST_CASE("a saved network with a widened block is rebuilt, growing or fossilised") {
  for (const WideCase& c : wide_cases()) {
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

TEST_CASE("a widening trains blended under any composition and form of training, and only where it is named") {
  auto growth = widening_growth();
  growth.composition = config::Composition::kGate;
  growth.training = config::SeedTraining::kShadow;
  Wide wide(dense(), growth);
  REQUIRE_FALSE(Growing::rejected(wide.grow("r0c1")));
  CHECK(wide.parameters().size() == 8 + 3);  // no gate
  REQUIRE_FALSE(Growing::rejected(wide.network.apply(wide.command(SeedOperation::kStartTraining), wide.probe)));
  CHECK_FALSE(wide.network.parameter_groups().at(1).in_shadow);
  const auto names = export_slots(Network(dense().host, {}, dense().sample, 7, torch::kCPU).state()).at(0).blueprints;
  CHECK(std::ranges::find(names, "widen") == names.end());
}

TEST_CASE("in host.modules it is a layer that is wider from the start, with values of its own") {
  for (const WideCase& c : wide_cases()) {
    CAPTURE(c.name, c.slot);
    auto host = c.host;
    host.modules = {c.slot + "=widen"};
    const Network network(host, {}, c.sample, 7, torch::kCPU);
    const auto probe = tests::inputs_of(c.sample, kRows);
    const auto logits = network.forward(probe, Mode::kTrain);
    logits.square().mean().backward();
    const auto groups = network.parameter_groups();
    for (const auto& [id, tensor] : groups.at(1).parameters) {
      INFO(id);
      CHECK(tensor.grad().abs().max().item<double>() > 0);
    }
  }
}

TEST_CASE("the table counts a widening's parameters") {
  auto mlp = dense();
  mlp.host.hidden = {8, 8, 8};
  const auto count = [](const WideCase& c, const std::string& blueprint) {
    Wide wide(c);
    wide.grow(c.slot, blueprint);
    return export_seed_states(wide.network.state()).at(0).figures.params;
  };
  for (const std::string blueprint : {"widen", "widen_half"}) {
    const auto counted = [&](const FeatureShape& shape) {
      return find_blueprint(blueprint, shape.kind)->num_parameters(shape);
    };
    CHECK(count(mlp, blueprint) == counted({.kind = FeatureKind::kFeatures, .channels = 8}));
    CHECK(count(decoder_text(), blueprint) == counted({.kind = FeatureKind::kSequence, .channels = 16, .tokens = 7}));
  }
  CHECK(count(conv("r0c1"), "widen_half") == 4 * (9 * 4 + 2 + 9 * 16));
}

}  // namespace esper::kasmina::widening_test
