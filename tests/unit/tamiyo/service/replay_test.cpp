#include "tamiyo/service/replay.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <stdexcept>

#include "leyline/command_summary.h"
#include "leyline/seed_command.h"
#include "support/scripted_controller.h"
#include "tamiyo/heuristic.h"
#include "tamiyo/planned_policy.h"
#include "tamiyo/service/log_record.h"
#include "unit/tamiyo/decided_run.h"
#include "unit/tamiyo/simulated_run.h"

namespace esper::tamiyo::replay_test {
namespace {

constexpr int kLongRun = 1000;

config::GrowthConfig growth() {
  config::GrowthConfig growth;
  growth.max_seeds = 2;
  growth.training = config::SeedTraining::kStraightThrough;
  return growth;
}

HeuristicController heuristic() {
  config::HeuristicConfig settings;
  settings.window_epochs = 1;
  return {settings, growth(), kLongRun};
}

// Consultations of a run that the heuristic grows.
std::vector<leyline::DecisionRecord> recorded_run(int epochs) {
  std::vector<leyline::DecisionRecord> records;
  SimulatedRun run({"good", "bad"});
  auto policy = heuristic();
  for (int epoch = 1; epoch <= epochs; ++epoch) {
    leyline::DecisionRecord record;
    run.end_epoch();
    record.observation = run.now;
    record.policy = "heuristic";
    record.state = policy.save_state();
    record.answer = {"decided", "", 0.1, policy.decide(run.now)};
    record.carried_out = record.answer.decision;
    for (const auto& command : record.answer.decision.commands) run.obey(command);
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

TEST_CASE("each decision of a run is made again from its state, in any order") {
  const auto records = recorded_run(30);
  auto policy = heuristic();
  std::size_t commands = 0;
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    CAPTURE(record->observation.current_epoch);
    const auto made = replay(record->observation, record->state, record->answer, policy);
    CHECK(made.difference == "");
    REQUIRE(made.decision);
    commands += made.decision->commands.size();
  }
  CHECK(commands > 0);
}

TEST_CASE("another policy, a policy that fails, and a state that cannot be loaded are differences") {
  const auto records = recorded_run(30);
  const auto grows =
      std::ranges::find_if(records, [](const auto& record) { return !record.answer.decision.commands.empty(); });
  REQUIRE(grows != records.end());
  test::ScriptedController quiet([](const auto&) { return leyline::Decision{}; });
  CHECK(replay(grows->observation, "{}", grows->answer, quiet).difference.starts_with("commands: "));
  test::ScriptedController failing([](const auto&) -> leyline::Decision { throw std::runtime_error("no"); });
  CHECK(replay(grows->observation, "{}", grows->answer, failing).difference == "it fails now: no");
  auto policy = heuristic();
  CHECK(replay(grows->observation, "rubbish", grows->answer, policy)
            .difference.starts_with("its state then cannot be loaded: "));
}

TEST_CASE("what had no answer has nothing to be made again") {
  test::ScriptedController quiet([](const auto&) { return leyline::Decision{}; });
  const auto made = replay({}, "{}", {"late", "no decision within 5 ms", 5, {}}, quiet);
  CHECK_FALSE(made.decision);
  CHECK(made.difference == "");
  CHECK(made.problem == "it was late then: no decision within 5 ms");
}

TEST_CASE("what the service made of an answer is made again, rule by rule") {
  const DecidedRun run;
  const ServiceSettings settings;
  PolicyService service(std::make_unique<Consultation>(test::scripted([](const leyline::Observation& seen) {
                                                         return leyline::Decision{{test::germination(seen)}, "grow"};
                                                       }),
                                                       base::Clock(), std::chrono::seconds(60), Pace::kImmediate),
                        settings, base::Clock());
  auto seen = run.now;
  std::swap(seen.slots[0], seen.slots[1]);
  for (const double loss : {0.5, 0.9, 0.9}) {  // a jump of the loss holds commands back
    seen.validation_loss = loss;
    ++seen.current_epoch;
    const auto report = service.evaluate(seen);
    auto record = decision_record("gnn", seen, {}, report);
    CHECK_FALSE(service_difference(record, settings));
    if (loss == 0.9 && seen.current_epoch == 5) CHECK(record.carried_out.commands.empty());
    record.carried_out.reason += "!";
    CHECK(service_difference(record, settings));
  }
}

TEST_CASE("another policy decides on what the run's policy knew of the seeds") {
  const auto records = recorded_run(30);
  PlannedPolicy periodic(PeriodicPlan({.every_epochs = 3}), {}, growth(), kLongRun);
  std::size_t germinations = 0;
  for (const auto& record : records) {
    const auto made = decide_instead(record, periodic);
    REQUIRE(made.decision);
    for (const char* surprise : {"removed without a command", "did not germinate"}) {
      CHECK(made.decision->reason.find(surprise) == std::string::npos);
    }
    for (const auto& name : leyline::command_names(*made.decision)) germinations += name.starts_with("GERMINATE");
  }
  CHECK(germinations > 0);
}

TEST_CASE("a policy whose state is of another kind decides as it is") {
  const auto records = recorded_run(2);
  test::ScriptedController other([](const auto&) { return leyline::Decision{{}, "as it is"}; });
  const auto made = decide_instead(records[1], other);
  REQUIRE(made.decision);
  CHECK(made.decision->reason == "as it is");
}

}  // namespace esper::tamiyo::replay_test
