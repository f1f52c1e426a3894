#include "tamiyo/heuristic.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "tamiyo/null_controller.h"
#include "unit/tamiyo/saved_state.h"
#include "unit/tamiyo/simulated_run.h"

namespace esper::tamiyo::heuristic_test {
namespace {

using leyline::SeedOperation;
using leyline::Stage;

std::vector<SeedOperation> operations(const SimulatedRun& run) {
  std::vector<SeedOperation> list;
  for (const auto& command : run.history) list.push_back(command.seed_operation->operation);
  return list;
}

std::vector<std::string> germinated(const SimulatedRun& run) {
  std::vector<std::string> list;
  for (const auto& command : run.history) {
    if (command.seed_operation->operation == SeedOperation::kGerminate) {
      list.push_back(command.seed_operation->blueprint_id);
    }
  }
  return list;
}

constexpr int kLongRun = 1000;

// Each epoch is judged by itself.
config::HeuristicConfig by_epoch() {
  config::HeuristicConfig heuristic;
  heuristic.window_epochs = 1;
  return heuristic;
}

// Seeds that rest for an epoch after their germination.
config::GrowthConfig straight_through() {
  config::GrowthConfig growth;
  growth.training = config::SeedTraining::kStraightThrough;
  return growth;
}

HeuristicController controller(const config::HeuristicConfig& heuristic = by_epoch()) {
  return {heuristic, straight_through(), kLongRun};
}

TEST_CASE("a plateau grows a seed and a useful seed becomes part of the host") {
  SimulatedRun run({"good"});
  auto policy = controller();
  for (int epoch = 1; epoch < 5; ++epoch) CHECK(run.step(policy).commands.empty());
  const auto decision = run.step(policy);
  REQUIRE(decision.commands.size() == 1);
  CHECK(decision.commands[0].command_id == "sim-e5-1");
  CHECK(decision.commands[0].annotations.at("reason").find("plateau") != std::string::npos);
  CHECK(decision.reason.find("germinates good") != std::string::npos);
  for (int epoch = 6; epoch < 22; ++epoch) CHECK_FALSE(run.step(policy).reason.empty());
  using O = SeedOperation;
  const auto asked = operations(run);
  const std::vector<O> first(asked.begin(), asked.begin() + 6);
  CHECK(first ==
        std::vector{O::kGerminate, O::kStartTraining, O::kStartGrafting, O::kStabilize, O::kEvaluate, O::kFossilize});
  CHECK(run.now.seed_states.at(0).stage == Stage::kFossilized);
}

TEST_CASE("what would be germinated can be asked before, from the saved state alone") {
  SimulatedRun run({"good", "bad"});
  auto policy = controller(), beside = controller();
  for (int epoch = 1; epoch < 5; ++epoch) run.step(policy);
  beside.load_state(policy.save_state());
  const auto next = beside.next_germination(run.now.slots);
  const auto decision = run.step(policy);
  REQUIRE(next);
  REQUIRE(decision.commands.size() == 1);
  CHECK(next->slot == decision.commands[0].seed_operation->slot);
  CHECK(next->blueprint == decision.commands[0].seed_operation->blueprint_id);
  CHECK_FALSE(beside.next_germination({}));
}

TEST_CASE("a seed waits for the epochs of its stage") {
  SimulatedRun run({"good"});
  auto policy = controller();
  std::map<Stage, std::uint32_t> dwelt;
  for (int epoch = 1; epoch < 25; ++epoch) {
    run.end_epoch();
    const auto decision = policy.decide(run.now);
    for (const auto& command : decision.commands) {
      if (const auto* seed = run.seed(command.target_seed_id)) dwelt.emplace(seed->stage, seed->stage_epochs);
      run.obey(command);
    }
  }
  CHECK(dwelt.at(Stage::kTraining) == 3);
  CHECK(dwelt.at(Stage::kBlending) == 4);  // three would do, but alpha arrives with the fourth
  CHECK(dwelt.at(Stage::kShadowing) == 1);
  CHECK(dwelt.at(Stage::kProbationary) == 1);
}

TEST_CASE("as many seeds grow at the same time as the run allows, each after a plateau of its own") {
  SimulatedRun run({"good"}, 3);
  auto heuristic = by_epoch();
  heuristic.seeds_at_once = 2;
  auto policy = controller(heuristic);
  std::ptrdiff_t most = 0;
  for (int epoch = 1; epoch < 12; ++epoch) {
    run.step(policy);
    most = std::max(most, std::ranges::count_if(run.now.seed_states, [](const auto& seed) {
                      return seed.stage >= Stage::kGerminated && seed.stage <= Stage::kProbationary;
                    }));
  }
  CHECK(most == 2);
}

TEST_CASE("a harmful seed is pruned, the embargo holds, and another blueprint is tried") {
  SimulatedRun run({"bad", "good"});
  auto policy = controller();
  std::uint32_t pruned_at = 0, regrown_at = 0;
  for (int epoch = 1; epoch < 30 && regrown_at == 0; ++epoch) {
    for (const auto& command : run.step(policy).commands) {
      const auto operation = command.seed_operation->operation;
      if (operation == SeedOperation::kCull) {
        pruned_at = run.now.current_epoch;
        CHECK(command.annotations.at("reason").find("costs 4 accuracy points") != std::string::npos);
      }
      if (operation == SeedOperation::kGerminate && pruned_at) regrown_at = run.now.current_epoch;
    }
  }
  REQUIRE(pruned_at > 0);
  CHECK(regrown_at == pruned_at + 5);
  CHECK(germinated(run) == std::vector<std::string>{"bad", "good"});
  CHECK(run.history.back().seed_operation->slot == "r0c0");  // the other slot has no prune yet
}

TEST_CASE("a blueprint above the penalty limit is skipped until the penalty has decayed") {
  auto config = by_epoch();
  config.penalty_on_prune = 200;
  config.embargo_epochs = 1;
  SimulatedRun run({"bad"}, 1);
  auto policy = controller(config);
  std::uint32_t pruned_at = 0, regrown_at = 0;
  bool told = false;
  for (int epoch = 1; epoch < 40 && regrown_at == 0; ++epoch) {
    const auto decision = run.step(policy);
    told = told || decision.reason.find("penalty <= 3") != std::string::npos;
    for (const auto& command : decision.commands) {
      if (command.seed_operation->operation == SeedOperation::kCull) pruned_at = run.now.current_epoch;
      if (command.seed_operation->operation == SeedOperation::kGerminate && pruned_at)
        regrown_at = run.now.current_epoch;
    }
  }
  CHECK(told);
  CHECK(regrown_at == pruned_at + 7);  // 200 / 2^7 is the first at most 3
}

TEST_CASE("a seed without worth is pruned after the epochs that are allowed") {
  SimulatedRun run({"idle"});
  auto policy = controller();
  for (int epoch = 1;
       epoch < 60 && (run.history.empty() || run.history.back().seed_operation->operation != SeedOperation::kCull);
       ++epoch) {
    run.step(policy);
  }
  REQUIRE(run.history.back().seed_operation->operation == SeedOperation::kCull);
  CHECK(run.history.back().annotations.at("reason") == "5 epochs without improvement (allowed 5)");
}

TEST_CASE("a seed that does harm goes, though it could move on") {
  SimulatedRun run({"good"});
  auto policy = controller();
  leyline::SeedState seed;
  seed.seed_id = "seed-1";
  seed.slot = "r0c0";
  seed.blueprint = "good";
  seed.stage = Stage::kBlending;
  seed.stage_epochs = 5;
  seed.figures.alpha = seed.figures.alpha_target = 1;
  seed.figures.improvement_points = -3;
  run.now.seed_states = {seed};
  run.now.current_epoch = 9;
  const auto decision = policy.decide(run.now);
  REQUIRE(decision.commands.size() == 1);
  CHECK(decision.commands[0].seed_operation->operation == SeedOperation::kCull);
}

TEST_CASE("a refused step is asked for again after ever longer pauses, then the seed is pruned") {
  auto config = by_epoch();
  config.prune_after_epochs = 20;
  SimulatedRun run({"good"});
  run.refuses_training = true;
  auto policy = controller(config);
  std::vector<std::uint32_t> asked;
  bool pruned = false;
  for (int epoch = 1; epoch < 40 && !pruned; ++epoch) {
    for (const auto& command : run.step(policy).commands) {
      if (command.seed_operation->operation == SeedOperation::kStartTraining) asked.push_back(run.now.current_epoch);
      pruned = pruned || command.seed_operation->operation == SeedOperation::kCull;
    }
  }
  CHECK(asked == std::vector<std::uint32_t>{6, 7, 9, 13, 21});
  CHECK(pruned);
}

TEST_CASE("a policy that is asked every other epoch counts epochs, not questions") {
  auto config = by_epoch();
  config.plateau_epochs = 4;
  config.stable_epochs = 2;
  SimulatedRun run({"good"});
  auto policy = controller(config);
  std::uint32_t first = 0;
  while (first == 0 && run.now.current_epoch < 20) {
    run.end_epoch();
    if (!run.step(policy).commands.empty()) first = run.now.current_epoch;
  }
  CHECK(first == 6);  // a plateau since epoch 2
}

TEST_CASE("a germination that did not come up counts as a prune") {
  SimulatedRun run({"good", "idle"});
  auto policy = controller();
  std::vector<std::uint32_t> asked;
  std::vector<std::string> blueprints;
  for (int epoch = 1; epoch <= 16; ++epoch) {
    run.end_epoch();
    for (const auto& command : policy.decide(run.now).commands) {  // never obeyed
      asked.push_back(run.now.current_epoch);
      blueprints.push_back(command.seed_operation->blueprint_id);
    }
  }
  CHECK(asked == std::vector<std::uint32_t>{5, 11});
  CHECK(blueprints == std::vector<std::string>{"good", "idle"});
}

TEST_CASE("a seed that vanished by itself counts as a prune") {
  SimulatedRun run({"good"});
  auto policy = controller();
  for (int epoch = 1; epoch <= 7; ++epoch) run.step(policy);
  REQUIRE(run.now.seed_states.size() == 1);
  run.now.seed_states.clear();
  const auto decision = run.step(policy);
  CHECK(decision.reason.find("seed-1 was removed without a command") != std::string::npos);
  CHECK(decision.reason.find("embargo after the last prune lasts until epoch 13") != std::string::npos);
}

TEST_CASE("a seed that is forgotten is not missed, just asked for or grown already") {
  for (const int epochs : {5, 7}) {
    SimulatedRun run({"good"});
    auto policy = controller();
    for (int epoch = 1; epoch <= epochs; ++epoch) run.step(policy);
    const auto state = policy.save_state();
    REQUIRE(nlohmann::json::parse(state)["asked"].size() == (epochs == 5 ? 1 : 0));
    run.now.seed_states.clear();
    policy.load_state(forget_seed(state, "seed-1", run.history.front().seed_operation->slot));
    const auto decision = run.step(policy);
    CAPTURE(epochs, decision.reason);
    CHECK(decision.reason.find("prune") == std::string::npos);
  }
}

TEST_CASE("a host that learns fast is left alone") {
  SimulatedRun run({"good"});
  auto policy = controller();
  for (int epoch = 1; epoch < 20; ++epoch) {
    run.now.validation_loss *= 0.9;
    CHECK(run.step(policy).commands.empty());
  }
}

TEST_CASE("a loss that rises and falls back is no improvement: the host is stable all the same") {
  SimulatedRun run({"good"});
  auto policy = controller();
  std::uint32_t germinated_at = 0;
  // As measured on a small cnn: it stands still, and every bad epoch is followed by a recovery of more than 3 %.
  const double losses[] = {0.50, 0.30, 0.20, 0.15, 0.12, 0.34, 0.17, 0.121, 0.16, 0.125, 0.25, 0.122};
  for (const double loss : losses) {
    run.now.validation_loss = loss;
    if (!run.step(policy).commands.empty() && germinated_at == 0) germinated_at = run.now.current_epoch;
  }
  CHECK(germinated_at == 8);  // epoch 5 is the best one; three epochs without a better loss follow
}

TEST_CASE("a host that learns faster than that is left alone, whatever its bad epochs") {
  SimulatedRun run({"good"});
  auto policy = controller();
  for (int epoch = 1; epoch < 20; ++epoch) {
    run.now.validation_loss = 0.5 * std::pow(0.9, epoch) * (epoch % 3 == 0 ? 1.3 : 1.0);
    CHECK(run.step(policy).commands.empty());
  }
}

TEST_CASE("the state of a version that compared with the last epoch, and asked for one seed, can be read") {
  const int epochs = GENERATE(1, 5);
  SimulatedRun run({"good"});
  auto policy = controller();
  for (int epoch = 1; epoch <= epochs; ++epoch) run.step(policy);
  auto saved = nlohmann::json::parse(policy.save_state());
  REQUIRE(saved["asked"].size() == (epochs == 5 ? 1 : 0));
  saved["last_loss"] = saved["best_loss"];
  saved["asked_germination"] = saved["asked"].empty() ? nlohmann::json(nullptr) : saved["asked"][0];
  saved.erase("best_loss");
  saved.erase("asked");
  auto other = controller();
  other.load_state(saved.dump());
  CHECK(other.save_state() == policy.save_state());
}

TEST_CASE("a seed that learns as part of the network starts with its germination") {
  SimulatedRun run({"good"});
  HeuristicController policy(by_epoch(), config::GrowthConfig{}, kLongRun);
  for (int epoch = 1; epoch <= 5; ++epoch) run.step(policy);
  using O = SeedOperation;
  CHECK(operations(run) == std::vector{O::kGerminate, O::kStartTraining});
  CHECK(run.now.seed_states.at(0).stage == Stage::kTraining);
}

TEST_CASE("one good or bad epoch within the window neither ends a plateau nor starts one") {
  SimulatedRun run({"good"});
  config::HeuristicConfig heuristic;
  heuristic.stable_relative_improvement = 1;
  auto policy = controller(heuristic);
  // Progress of a point an epoch, with one epoch far below: judged alone it would count as three without progress.
  for (int epoch = 1; epoch < 25; ++epoch) {
    run.now.validation_accuracy = 0.5 + 0.01 * epoch - (epoch == 12 ? 0.02 : 0);
    CHECK(run.step(policy).commands.empty());
  }
}

TEST_CASE("an improvement that is not shown is no progress, and the next one that is shown is") {
  for (const bool shown : {true, false}) {
    SimulatedRun run({"good"});
    auto policy = controller();
    std::uint32_t germinated_at = 0;
    for (int epoch = 1; epoch < 10 && germinated_at == 0; ++epoch) {
      run.now.validation_accuracy = 0.5 + 0.01 * epoch;
      run.now.validation_changes = {
          {.after = 1, .before = 1, .loss = -0.01, .loss_error = base::StandardError{shown ? 0.001 : 0.1, 1000}}};
      if (!run.step(policy).commands.empty()) germinated_at = run.now.current_epoch;
    }
    CAPTURE(shown);
    CHECK(germinated_at == (shown ? 0 : 5));
  }
}

TEST_CASE("a germination says what is forecast of it, and one that cannot pay is not begun") {
  for (const bool pays : {true, false}) {
    SimulatedRun run({"good"}, 2);
    for (auto& slot : run.now.slots) slot.step_costs = {0.25};
    leyline::SeedState before;
    before.seed_id = "seed-9";
    before.blueprint = "good";
    before.stage = Stage::kFossilized;
    before.age_epochs = 100;
    before.stage_epochs = pays ? 90 : 0;
    run.now.seed_states = {before};
    HeuristicController policy(by_epoch(), straight_through(), 90);
    leyline::Decision decision;
    for (int epoch = 1; epoch <= 5; ++epoch) decision = run.step(policy);
    CAPTURE(decision.reason);
    CHECK(decision.commands.size() == (pays ? 1 : 0));
    CHECK((decision.reason.find("a step of 1.25 times the multiply-adds") != std::string::npos) == pays);
    CHECK((decision.reason.find("earlier seeds needed 95") != std::string::npos) == !pays);
  }
}

TEST_CASE("a seed is not germinated once the run is too short for it") {
  config::HeuristicConfig heuristic = by_epoch();
  heuristic.min_share_left = 0.01;
  const int life = shortest_life(straight_through());
  for (const int spare : {-1, 0}) {
    SimulatedRun run({"good"});
    HeuristicController policy(heuristic, straight_through(), 5 + life + spare);
    leyline::Decision decision;
    for (int epoch = 1; epoch <= 5; ++epoch) decision = run.step(policy);
    CAPTURE(decision.reason);
    CHECK(decision.commands.size() == (spare < 0 ? 0 : 1));
    CHECK((decision.reason.find("epochs left, and a seed needs") != std::string::npos) == (spare < 0));
  }
}

TEST_CASE("what the run would reject is not asked for, and costs no prune") {
  SimulatedRun run({"good"});
  auto policy = controller();
  run.now.germination_barred = "the budget is used up";
  for (int epoch = 1; epoch < 10; ++epoch) {
    const auto decision = run.step(policy);
    CHECK(decision.commands.empty());
    if (epoch >= 5) CHECK(decision.reason == "no germination: the budget is used up");
  }
  run.now.germination_barred.clear();
  CHECK(run.step(policy).commands.size() == 1);
}

TEST_CASE("an observation that cannot be right is answered with a reason and no command") {
  SimulatedRun run({"good"});
  auto policy = controller();
  for (int epoch = 1; epoch <= 4; ++epoch) run.step(policy);
  const auto before = policy.save_state();
  run.end_epoch();
  auto bad = run.now;
  bad.validation_accuracy = std::numeric_limits<double>::quiet_NaN();
  CHECK(policy.decide(bad).commands.empty());
  CHECK(policy.decide(bad).reason.find("validation accuracy is nan") != std::string::npos);
  bad = run.now;
  bad.validation_loss = std::numeric_limits<double>::infinity();
  CHECK(policy.decide(bad).commands.empty());
  bad = run.now;
  bad.current_epoch = 4;
  CHECK(policy.decide(bad).reason.find("does not follow epoch 4") != std::string::npos);
  CHECK(policy.save_state() == before);
  CHECK(policy.decide(run.now).commands.size() == 1);
}

TEST_CASE("a state that went through JSON at each epoch decides the same") {
  const auto ids = check_saved_state([] { return controller(); }, 120);
  CHECK(ids.size() > 10);
  CHECK(std::set(ids.begin(), ids.end()).size() == ids.size());
}

TEST_CASE("a damaged state is refused as a checkpoint error") {
  auto policy = controller();
  for (const char* text : {"", "{}", "[1]", R"({"format": 9})", R"({"format": 1, "last_epoch": "x"})"}) {
    CAPTURE(text);
    try {
      policy.load_state(text);
      FAIL("accepted");
    } catch (const base::Error& error) {
      CHECK(error.code() == base::ExitCode::kCheckpoint);
    }
  }
}

TEST_CASE("the policy none asks for nothing and says so") {
  SimulatedRun run({"good"});
  NullController policy;
  for (int epoch = 1; epoch < 20; ++epoch) {
    const auto decision = run.step(policy);
    CHECK(decision.commands.empty());
    CHECK_FALSE(decision.reason.empty());
  }
}

}  // namespace
}  // namespace esper::tamiyo::heuristic_test
