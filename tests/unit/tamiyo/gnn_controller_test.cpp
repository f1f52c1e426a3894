#include "tamiyo/gnn_controller.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "base/error.h"
#include "unit/tamiyo/saved_state.h"
#include "unit/tamiyo/simulated_run.h"

namespace esper::tamiyo::gnn_controller_test {
namespace {

using leyline::SeedOperation;

constexpr auto kSeeds = static_cast<std::size_t>(NodeType::kSeed);
constexpr auto kBlueprints = static_cast<std::size_t>(NodeType::kBlueprint);
constexpr auto kGlobal = static_cast<std::size_t>(NodeType::kGlobal);

// As a fresh network has them.
PolicyOutputs waiting(const HeteroGraph& graph) {
  PolicyOutputs outputs;
  outputs.policy_logits.fill(-0.5F);
  outputs.policy_logits[0] = 0.5F;
  outputs.seed_scores.assign(static_cast<std::size_t>(graph.nodes[kSeeds].count), 0);
  outputs.blueprint_scores.assign(static_cast<std::size_t>(graph.nodes[kBlueprints].count), 0);
  return outputs;
}

GraphNetwork always(Action action) {
  return [action](const HeteroGraph& graph) -> base::Expected<PolicyOutputs> {
    auto outputs = waiting(graph);
    outputs.policy_logits[static_cast<std::size_t>(action)] = 5;
    return outputs;
  };
}

// Its decisions depend on all that it sees of the run, and so on the normaliser.
base::Expected<PolicyOutputs> fickle(const HeteroGraph& graph) {
  auto outputs = waiting(graph);
  const auto& features = graph.nodes[kGlobal].features;
  float sum = std::accumulate(features.begin(), features.end(), 0.0F);
  outputs.policy_logits[1] = 2 * std::sin(7 * sum);
  outputs.policy_logits[3] = 2 * std::cos(5 * sum);
  for (auto& score : outputs.blueprint_scores) score = std::sin(sum += 1);
  return outputs;
}

GnnSettings settings(const std::string& weights = "a") {
  GnnSettings settings;
  settings.choice.max_seeds = 2;
  settings.rules.training = config::SeedTraining::kStraightThrough;
  settings.weights = weights;
  return settings;
}

std::vector<SeedOperation> asked_by(const SimulatedRun& run) {
  std::vector<SeedOperation> list;
  for (const auto& command : run.history) list.push_back(command.seed_operation->operation);
  return list;
}

}  // namespace

TEST_CASE("a network that has not learned waits, and says what it saw") {
  SimulatedRun run({"good"});
  GnnController policy(always(Action::kWait), settings());
  for (int epoch = 1; epoch < 4; ++epoch) {
    const auto decision = run.step(policy);
    CHECK(decision.commands.empty());
    CHECK(decision.reason.find("the network chose wait: probability ") != std::string::npos);
    REQUIRE(decision.assessment);
    CHECK(decision.assessment->network_ms.value() >= 0);
    CHECK(*decision.assessment->coverage > 0.1);
    CHECK(decision.assessment->family_coverage.size() == kFamilies);
    CHECK(decision.assessment->family_coverage.at("node.seed") > 0);
    CHECK(decision.assessment->family_coverage.at("node.layer") == 0);
  }
}

TEST_CASE("a run begins with the normaliser of the policy's file") {
  auto of_file = settings();
  of_file.normaliser.moments[0] = {3, 2};
  const GnnController policy(always(Action::kWait), of_file);
  CHECK(policy.normaliser() == of_file.normaliser);
  CHECK(normaliser_of(policy.save_state()).value() == of_file.normaliser);
}

TEST_CASE("the network germinates, and its seed is taken through the stages by the rules of every policy") {
  SimulatedRun run({"good"}, 1);
  GnnController policy(always(Action::kGerminate), settings());
  const auto first = run.step(policy);
  REQUIRE(first.commands.size() == 1);
  CHECK(first.commands[0].command_id == "sim-e1-1");
  CHECK(first.commands[0].issued_by == "tamiyo.gnn");
  CHECK(first.commands[0].seed_operation->parameters.contains("alpha_ticks"));
  for (int epoch = 2; epoch < 20; ++epoch) {
    CHECK(run.step(policy).reason.find("did not germinate") == std::string::npos);
  }
  using O = SeedOperation;
  CHECK(asked_by(run) ==
        std::vector{O::kGerminate, O::kStartTraining, O::kStartGrafting, O::kStabilize, O::kEvaluate, O::kFossilize});
}

TEST_CASE("a germination that the network rejected is reported at the next epoch") {
  SimulatedRun run({"good"}, 1);
  GnnController policy(always(Action::kGerminate), settings());
  run.end_epoch();
  policy.decide(run.now);  // and nobody obeys
  CHECK(run.step(policy).reason.find("good did not germinate at r0c0") != std::string::npos);
}

TEST_CASE("a seed that the network culls has no other command, and is not missed") {
  SimulatedRun run({"good"}, 1);
  GnnController policy(always(Action::kGerminate), settings());
  run.step(policy);
  GnnController culler(always(Action::kCull), settings());
  culler.load_state(policy.save_state());
  const auto decision = run.step(culler);
  REQUIRE(decision.commands.size() == 1);
  CHECK(decision.commands[0].command_id == "sim-e2-1");
  CHECK(decision.commands[0].seed_operation->operation == SeedOperation::kCull);
  CHECK(decision.commands[0].target_seed_id == "seed-1");
  CHECK(run.step(culler).reason.find("was removed without a command") == std::string::npos);
}

TEST_CASE("the network advances no seed and blends none out: the care does") {
  for (const Action action : {Action::kAdvance, Action::kCancel}) {
    SimulatedRun run({"good"}, 1);
    GnnController gardener(always(Action::kGerminate), settings());
    run.step(gardener);
    GnnController policy(always(action), settings());
    policy.load_state(gardener.save_state());
    const auto decision = run.step(policy);
    REQUIRE(decision.commands.size() == 1);
    CHECK(decision.commands[0].seed_operation->operation == SeedOperation::kStartTraining);
    CHECK(decision.reason.find("the network chose wait") != std::string::npos);
  }
}

TEST_CASE("a network without a usable answer leaves the state as it was") {
  SimulatedRun run({"good"});
  bool fails = false, is_finite = true;
  GnnController policy(
      [&](const HeteroGraph& graph) -> base::Expected<PolicyOutputs> {
        if (fails) return base::failure("no");
        auto outputs = waiting(graph);
        if (!is_finite) outputs.policy_logits[1] = std::numeric_limits<float>::quiet_NaN();
        return outputs;
      },
      settings());
  run.step(policy);
  const auto before = policy.save_state();
  run.end_epoch();
  fails = true;
  CHECK_THROWS_AS(policy.decide(run.now), std::runtime_error);
  CHECK(policy.save_state() == before);
  fails = is_finite = false;
  CHECK_THROWS_AS(policy.decide(run.now), std::runtime_error);
  CHECK(policy.save_state() == before);
  is_finite = true;
  CHECK_NOTHROW(policy.decide(run.now));
  CHECK(policy.save_state() != before);
}

TEST_CASE("a resumed policy decides as one that was never stopped") {
  const auto ids = check_saved_state([] { return GnnController(fickle, settings()); }, 60);
  CHECK(ids.size() > 5);
}

TEST_CASE("a saved state belongs to its weights") {
  GnnController policy(fickle, settings("a")), other(fickle, settings("b"));
  CHECK_THROWS_AS(other.load_state(policy.save_state()), base::Error);
  CHECK_THROWS_AS(policy.load_state("{}"), base::Error);
  CHECK_NOTHROW(policy.load_state(GnnController(fickle, settings("a")).save_state()));
}

TEST_CASE("measured times are seen only where that is asked for") {
  for (const bool see_times : {false, true}) {
    std::vector<float> seen;
    auto own = settings();
    own.see_times = see_times;
    GnnController policy(
        [&](const HeteroGraph& graph) -> base::Expected<PolicyOutputs> {
          seen = graph.nodes[kGlobal].features;
          return waiting(graph);
        },
        own);
    SimulatedRun run({"good"});
    run.now.training_metrics = {{"samples_per_s", 6000.0}};
    run.step(policy);
    CHECK((seen.at(9) == 1) == see_times);  // the presence flag of samples_per_s
  }
}

}  // namespace esper::tamiyo::gnn_controller_test
