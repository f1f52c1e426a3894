#include "tamiyo/decision/choice_commands.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "unit/tamiyo/decided_run.h"

namespace esper::tamiyo::choice_commands_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using leyline::SeedOperation;

leyline::Decision decided(const Choice& choice, config::SeedTraining training = config::SeedTraining::kBlended) {
  const DecidedRun run;
  return decision_of(choice, run.candidates, run.now, {.training = training});
}

Choice with_seed(Action action, int seed, int blueprint = -1) {
  Choice choice;
  choice.action = action;
  choice.seed = seed;
  choice.blueprint = blueprint;
  choice.blend = {2, 3, 0.7};
  choice.assessment.risk = 0.25;
  return choice;
}

}  // namespace

TEST_CASE("waiting is a decision without commands, with its reason and figures") {
  const auto decision = decided(with_seed(Action::kWait, -1));
  CHECK(decision.commands.empty());
  CHECK_THAT(decision.reason, ContainsSubstring("chose wait") && ContainsSubstring("risk 0.25"));
  REQUIRE(decision.assessment);
  CHECK(decision.assessment->risk == 0.25);
}

TEST_CASE("a germination names slot, blueprint and blend, and starts to train where seeds train blended") {
  const auto decision = decided(with_seed(Action::kGerminate, 1, 1));
  REQUIRE(decision.commands.size() == 2);
  const auto& germination = decision.commands[0];
  CHECK(germination.command_id == "run-e3-1");
  CHECK(germination.issued_at_ns == 1'000);
  CHECK(germination.issued_by == "tamiyo.gnn");
  CHECK(germination.annotations.contains("reason"));
  REQUIRE(germination.seed_operation);
  CHECK(germination.seed_operation->operation == SeedOperation::kGerminate);
  CHECK(germination.seed_operation->slot == "r0c1");
  CHECK(germination.seed_operation->blueprint_id == "conv_light");
  CHECK(germination.seed_operation->parameters ==
        std::map<std::string, double>{{"alpha_curve", 2}, {"alpha_ticks", 3}, {"alpha_target", 0.7}});
  const auto& start = decision.commands[1];
  CHECK(start.command_id == "run-e3-2");
  CHECK(start.seed_operation->operation == SeedOperation::kStartTraining);
  CHECK(start.seed_operation->slot == "r0c1");
  CHECK(start.target_seed_id.empty());
  CHECK(decided(with_seed(Action::kGerminate, 1, 1), config::SeedTraining::kStraightThrough).commands.size() == 1);
}

TEST_CASE("a growing seed gets the command of its stage, or is removed") {
  const auto operation_of = [](Action action) {
    const auto decision = decided(with_seed(action, 0));
    REQUIRE(decision.commands.size() == 1);
    CHECK(decision.commands[0].target_seed_id == "seed-0001");
    return decision.commands[0].seed_operation->operation;
  };
  CHECK(operation_of(Action::kAdvance) == SeedOperation::kStartGrafting);
  CHECK(operation_of(Action::kCull) == SeedOperation::kCull);
  CHECK(operation_of(Action::kCancel) == SeedOperation::kCancel);
}

}  // namespace esper::tamiyo::choice_commands_test
