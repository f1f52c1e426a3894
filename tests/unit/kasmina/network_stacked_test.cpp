#include "kasmina/network/network_stacked.h"

#include <ATen/ops/allclose.h>

#include <catch2/catch_test_macros.hpp>

#include "base/error.h"
#include "base/names.h"
#include "kasmina/network.h"
#include "kasmina/network/network_seeds.h"
#include "support/models/grown_network.h"

namespace esper::kasmina::network_stacked_test {
namespace {

using config::Composition;
using tests::all_on_and_off;
using tests::grown_cases;
using tests::grown_network;
using tests::inputs_of;

const std::vector<double> kAlphas = {0.3, 1, 0.6, 1};

// What the network says with these alphas written into its own scalars, one configuration at a time.
torch::Tensor one_by_one(const Network& network, const torch::Tensor& inputs, const Configuration& configuration) {
  const at::NoGradGuard no_grad;
  std::vector<std::pair<torch::Tensor, torch::Tensor>> saved;
  for (const auto& [id, tensor] : network.scalars()) {
    const auto wanted = configuration.find(id.substr(0, id.find('.')));
    if (!id.ends_with(".alpha") || wanted == configuration.end()) continue;
    saved.emplace_back(tensor, tensor.clone());
    tensor.fill_(wanted->second);
  }
  auto output = network.forward(inputs, Mode::kEvaluate);
  for (auto& [tensor, value] : saved) tensor.copy_(value);
  return output;
}

void check_same(const Network& network, const torch::Tensor& inputs, const std::vector<Configuration>& configurations) {
  const auto plan = plan_stacked(network.state(), configurations);
  const c10::InferenceMode inference;
  const auto stacked = forward_stacked(network.state(), inputs, plan).unflatten(0, {plan.groups, inputs.size(0)});
  REQUIRE(plan.group_of.size() == configurations.size());
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    INFO("configuration " << i);
    const auto alone = one_by_one(network, inputs, configurations[i]);
    CHECK(at::allclose(stacked.select(0, plan.group_of[i]), alone, 1e-4, 1e-5));
  }
}

}  // namespace

TEST_CASE("each configuration of a stacked forward is the network with those alphas, on every host and composition") {
  for (const auto& c : grown_cases()) {
    for (const auto& [composition, name] : names(Composition{})) {
      INFO(c.name << " " << name);
      const auto network = grown_network(c, composition, kAlphas);
      const auto inputs = inputs_of(c.sample, 5);
      REQUIRE(active_seeds(network->state()).size() == 4);
      check_same(*network, inputs, all_on_and_off(*network));
      // Different alphas in different branches, one configuration twice, one as it runs.
      check_same(*network, inputs,
                 {{{"seed-0002", 0.25}},
                  {},
                  {{"seed-0001", 0.0}, {"seed-0003", 1.0}},
                  {{"seed-0002", 0.25}},
                  {{"seed-0001", 0.0}, {"seed-0004", 0.5}}});
    }
  }
}

TEST_CASE("the seeds are heard: configurations differ") {
  for (const auto& c : grown_cases()) {
    INFO(c.name);
    const auto network = grown_network(c, Composition::kAdd, kAlphas);
    const auto inputs = inputs_of(c.sample, 5);
    const auto runs = one_by_one(*network, inputs, {});
    for (const auto& seed_id : active_seeds(network->state())) {
      CHECK_FALSE(at::allclose(runs, one_by_one(*network, inputs, {{seed_id, 0}}), 1e-3, 1e-3));
    }
  }
}

TEST_CASE("a stacked forward wants known seeds and no gradients") {
  const auto c = grown_cases().front();
  const auto network = grown_network(c, Composition::kAdd, kAlphas);
  const std::vector<Configuration> unknown = {{{"seed-0009", 0}}}, known = {{}};
  CHECK_THROWS_AS(plan_stacked(network->state(), unknown), base::Error);
  CHECK_THROWS_AS(forward_stacked(network->state(), inputs_of(c.sample, 2), plan_stacked(network->state(), known)),
                  base::Error);
}

}  // namespace esper::kasmina::network_stacked_test
