#include "tamiyo/planned_policy.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <limits>

#include "base/error.h"
#include "unit/tamiyo/saved_state.h"
#include "unit/tamiyo/simulated_run.h"

namespace esper::tamiyo::planned_policy_test {
namespace {

using leyline::SeedOperation;

config::GrowthConfig growth(int max_seeds) {
  config::GrowthConfig config;
  config.max_seeds = max_seeds;
  config.training = config::SeedTraining::kStraightThrough;
  return config;
}

PlannedPolicy policy_of(Plan plan, int max_seeds = 4) { return {std::move(plan), {}, growth(max_seeds), 1000}; }

std::vector<SeedOperation> operations(const leyline::Decision& decision) {
  std::vector<SeedOperation> list;
  for (const auto& command : decision.commands) list.push_back(command.seed_operation->operation);
  return list;
}

TEST_CASE("a seed is taken through its stages by the rules of every policy") {
  SimulatedRun run({"good"}, 1);
  auto policy = policy_of(PeriodicPlan({.every_epochs = 2}));
  CHECK(run.step(policy).reason == "no germination: the next one is due after epoch 2");
  const auto decision = run.step(policy);
  REQUIRE(decision.commands.size() == 1);
  CHECK(decision.commands[0].command_id == "sim-e2-1");
  CHECK(decision.commands[0].issued_by == "tamiyo.periodic");
  CHECK(decision.reason == "germinates good at r0c0: due every 2 epochs; round robin, germination 1 at this slot");
  CHECK(decision.commands[0].annotations.at("reason") == "due every 2 epochs; round robin, germination 1 at this slot");
  for (int epoch = 3; epoch < 20; ++epoch) CHECK_FALSE(run.step(policy).reason.empty());
  using O = SeedOperation;
  std::vector<O> asked;
  for (const auto& command : run.history) asked.push_back(command.seed_operation->operation);
  CHECK(asked ==
        std::vector{O::kGerminate, O::kStartTraining, O::kStartGrafting, O::kStabilize, O::kEvaluate, O::kFossilize});
}

TEST_CASE("a harmful seed is pruned, and no penalty is spoken of") {
  SimulatedRun run({"bad"}, 1);
  auto policy = policy_of(RandomPlan({.probability = 1}, 1));
  bool is_pruned = false;
  for (int epoch = 1; epoch < 20; ++epoch) {
    const auto decision = run.step(policy);
    is_pruned |= decision.reason.find("is pruned: it costs 4 accuracy points") != std::string::npos;
    CHECK(decision.reason.find("counted as a prune") == std::string::npos);
  }
  CHECK(is_pruned);
}

TEST_CASE("no more seeds grow than growth.max_seeds, and a pruned one makes room at once") {
  SimulatedRun run({"idle"}, 4);
  auto policy = policy_of(RandomPlan({.probability = 1}, 1), 2);
  bool has_replaced = false;
  for (int epoch = 1; epoch < 40; ++epoch) {
    const auto decision = run.step(policy);
    const auto list = operations(decision);
    has_replaced |=
        std::ranges::count(list, SeedOperation::kCull) > 0 && std::ranges::count(list, SeedOperation::kGerminate) > 0;
    CHECK(std::ranges::count_if(run.now.seed_states, [](const auto& seed) {
            return seed.stage >= leyline::Stage::kGerminated && seed.stage <= leyline::Stage::kProbationary;
          }) <= 2);
  }
  CHECK(has_replaced);
}

TEST_CASE("a germination that the network rejected is reported, and the plan goes on") {
  SimulatedRun run({"good"}, 2);
  auto policy = policy_of(SchedulePlan({"1:r0c0=good", "1:r0c1=good", "3:r0c1=good"}, 10));
  run.end_epoch();
  const auto decision = policy.decide(run.now);
  REQUIRE(decision.commands.size() == 2);
  CHECK(decision.commands[1].command_id == "sim-e1-2");
  run.obey(decision.commands[0]);
  const auto after = run.step(policy);
  CHECK(after.reason.find("good did not germinate at r0c1") != std::string::npos);
  CHECK(after.reason.find("did not germinate at r0c0") == std::string::npos);
  CHECK(operations(after) == std::vector{SeedOperation::kStartTraining});
  CHECK(run.step(policy).reason.find("germinates good at r0c1") != std::string::npos);
}

TEST_CASE("a line of the schedule that cannot be carried out is a warning, waiting is none") {
  SimulatedRun run({"good"}, 1);
  auto policy = policy_of(SchedulePlan({"1:r0c0=good", "2:r0c0=good"}, 10));
  CHECK(run.step(policy).warnings.empty());
  CHECK(run.step(policy).warnings ==
        std::vector<std::string>{"\"2:r0c0=good\" is due, but r0c0 is not free but GERMINATED; it is not tried again"});
  CHECK(run.step(policy).warnings.empty());
}

TEST_CASE("a line that was due in an epoch that could not be used is germinated after the next one") {
  SimulatedRun run({"good"}, 1);
  auto policy = policy_of(SchedulePlan({"2:r0c0=good"}, 10));
  run.step(policy);
  run.now.validation_loss = std::numeric_limits<double>::quiet_NaN();
  CHECK(run.step(policy).commands.empty());
  run.now.validation_loss = 0.5;
  CHECK(operations(run.step(policy)) == std::vector{SeedOperation::kGerminate});
}

TEST_CASE("nothing is germinated after the last epoch") {
  SimulatedRun run({"good"}, 3);
  PlannedPolicy policy(PeriodicPlan({.every_epochs = 1}), {}, growth(4), 2);
  CHECK(run.step(policy).commands.size() == 1);
  const auto decision = run.step(policy);
  CHECK(std::ranges::none_of(decision.commands, [](const auto& command) {
    return command.seed_operation->operation == SeedOperation::kGerminate;
  }));
  CHECK(decision.reason.find("the run is over") != std::string::npos);
}

TEST_CASE("what the run would reject is not asked for, and the decision says why") {
  const auto make = GENERATE(
      +[] { return policy_of(PeriodicPlan({.every_epochs = 1})); },
      +[] { return policy_of(RandomPlan({.probability = 1}, 1)); },
      +[] { return policy_of(SchedulePlan({"1:r0c0=good", "2:r0c0=good"}, 10)); });
  SimulatedRun run({"good"});
  auto policy = make();
  run.now.germination_barred = "the budget is used up";
  const auto decision = run.step(policy);
  CHECK(decision.commands.empty());
  CHECK(decision.reason.find("the budget is used up") != std::string::npos);
  run.now.germination_barred.clear();
  CHECK(operations(run.step(policy)) == std::vector{SeedOperation::kGerminate});
}

TEST_CASE("where a growing seed bars the next, the decision that prunes it may germinate") {
  SimulatedRun run({"idle"}, 4);
  auto policy = policy_of(RandomPlan({.probability = 1}, 1), 2);
  bool has_replaced = false;
  for (int epoch = 1; epoch < 40; ++epoch) {
    const auto growing = std::ranges::count_if(run.now.seed_states, [](const auto& seed) {
      return seed.stage >= leyline::Stage::kGerminated && seed.stage <= leyline::Stage::kProbationary;
    });
    CHECK(growing <= 1);
    run.now.germination_barred = growing > 0 ? "one at a time" : "";
    const auto list = operations(run.step(policy));
    has_replaced |=
        std::ranges::count(list, SeedOperation::kCull) > 0 && std::ranges::count(list, SeedOperation::kGerminate) > 0;
  }
  CHECK(has_replaced);
}

TEST_CASE("a plan whose state went through JSON at each epoch decides the same") {
  const auto make = GENERATE(
      +[] { return policy_of(PeriodicPlan({.every_epochs = 3}), 2); },
      +[] { return policy_of(RandomPlan({.probability = 0.4}, 5), 2); },
      +[] { return policy_of(SchedulePlan({"2:r0c1=bad", "2:r0c0=good", "20%:r0c1=idle", "90%:r0c1=good"}, 60)); });
  CHECK(check_saved_state(make, 60).size() > 5);
}

TEST_CASE("what comes next can be asked of the saved state alone") {
  SimulatedRun run({"good", "bad"});
  auto policy = policy_of(PeriodicPlan({.every_epochs = 2})), beside = policy;
  for (int epoch = 1; epoch < 4; ++epoch) run.step(policy);
  beside.load_state(policy.save_state());
  const auto next = beside.next_germinations({run.now.slots[1]});
  const auto decision = run.step(policy);
  REQUIRE(next.size() == 1);
  REQUIRE_FALSE(decision.commands.empty());
  CHECK(next[0].slot == decision.commands.back().seed_operation->slot);
  CHECK(next[0].blueprint == decision.commands.back().seed_operation->blueprint_id);
}

TEST_CASE("a seed that a fork leaves out is not missed, and a damaged state is refused as a checkpoint error") {
  SimulatedRun run({"good"}, 1);
  auto policy = policy_of(PeriodicPlan({.every_epochs = 3}));
  for (int epoch = 1; epoch <= 4; ++epoch) run.step(policy);
  REQUIRE(run.now.seed_states.size() == 1);
  policy.load_state(forget_seed(policy.save_state(), "seed-1", "r0c0"));
  run.now.seed_states.clear();
  CHECK(run.step(policy).reason == "no germination: the next one is due after epoch 6");
  for (const char* text : {"", "{}", R"({"format": 1, "last_epoch": 2, "asked": [], "seeds": {}})"}) {
    CAPTURE(text);
    try {
      policy.load_state(text);
      FAIL("accepted");
    } catch (const base::Error& error) {
      CHECK(error.code() == base::ExitCode::kCheckpoint);
    }
  }
}

}  // namespace
}  // namespace esper::tamiyo::planned_policy_test
