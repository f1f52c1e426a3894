#include "tamiyo/service/evaluation.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "leyline/seed_command.h"
#include "unit/tamiyo/decided_run.h"

namespace esper::tamiyo::evaluation_test {
namespace {

using leyline::SeedOperation;
using std::chrono::milliseconds;
using Kind = Answer::Kind;

leyline::Decision growth_and_cull() {
  leyline::Decision decision{{leyline::germination("run-e3-1", "r0c1", "norm"),
                              leyline::seed_command("run-e3-2", SeedOperation::kStartTraining, ""),
                              leyline::seed_command("run-e3-3", SeedOperation::kCull, "seed-0001")},
                             "as the test says"};
  decision.commands[1].seed_operation->slot = "r0c1";
  return decision;
}

Answer decided() { return {Kind::kDecided, growth_and_cull(), {}, 1}; }
Answer without(Kind kind) { return {kind, {}, "no idea", 1}; }

bool has_event(const Evaluation& evaluation, std::string_view name) {
  return std::ranges::find(evaluation.events, name, &leyline::TelemetryEvent::description) != evaluation.events.end();
}

// Epochs of a run whose policy answers as the test says.
struct Evaluated {
  DecidedRun run;
  ServiceState state;
  ServiceSettings settings;
  base::Duration now{};

  Evaluation answer(Answer answer, const RunFigures& figures = {}) {
    std::vector<leyline::TelemetryEvent> events;
    if (!may_ask(state, settings, now, events)) answer = without(Kind::kBreakerOpen);
    auto result = evaluate({run.now, std::move(answer), figures, now}, state, settings);
    result.events.insert(result.events.begin(), events.begin(), events.end());
    ++run.now.current_epoch;
    return result;
  }
};

}  // namespace

TEST_CASE("a decision that nothing speaks against is carried out as it is, and says so") {
  Evaluated it;
  const auto result = it.answer(decided());
  CHECK(result.answer.kind == Kind::kDecided);
  REQUIRE(result.answer.decision.commands.size() == 3);
  for (const auto& command : result.answer.decision.commands) CHECK(command.annotations.at("risk_reason") == "policy");
  CHECK(result.risk_reason == "policy");
  CHECK(result.events.empty());
  CHECK(it.state.last_validation_loss == 0.5);
}

TEST_CASE("a growth that is held takes its start with it; the seed that grows goes on") {
  Evaluated it;
  it.run.now.training_metrics["grad_var"] = 2;
  const auto result = it.answer(decided());
  CHECK(result.change == Change::kHoldGrowth);
  REQUIRE(result.answer.decision.commands.size() == 1);
  CHECK(result.answer.decision.commands[0].target_seed_id == "seed-0001");
  CHECK(result.answer.decision.commands[0].annotations.at("risk_reason") == "grad_variance_high");
  CHECK(result.answer.decision.reason.find("2 of its commands are held back") != std::string::npos);
  CHECK(has_event(result, "grad_variance_high"));
  CHECK_FALSE(has_event(result, "pause_triggered"));
  CHECK(it.state.held_back == std::vector<std::string>{"r0c1"});
  auto disguised = decided();
  disguised.decision.commands[0].target_seed_id = "seed-0001";
  CHECK(it.answer(disguised).answer.decision.commands.size() == 1);
}

TEST_CASE("a spike of the loss pauses, and conservative mode lasts until an evaluation was calm") {
  Evaluated it;
  it.answer(decided());
  it.run.now.validation_loss = 0.7;
  const auto spike = it.answer(decided());
  CHECK(spike.answer.decision.commands.empty());
  CHECK(spike.risk_reason == "loss_spike");
  CHECK(has_event(spike, "pause_triggered"));
  CHECK(has_event(spike, "conservative_entered"));
  const std::vector<std::string> all{"r0c1", "seed-0001"};
  CHECK(it.state.held_back == all);
  it.answer(without(Kind::kLate));
  CHECK(it.state.held_back == all);  // the policy has not heard of it yet
  const auto after = it.answer(decided());
  CHECK(after.answer.decision.commands.empty());
  CHECK(after.risk_reason == "conservative_mode");
  CHECK(has_event(after, "conservative_exited"));
  CHECK(it.state.held_back == all);
  CHECK(it.answer(decided()).answer.decision.commands.size() == 3);
  CHECK(it.state.held_back.empty());
}

TEST_CASE("a loss that is not finite is a spike, and is not what the next one is compared with") {
  Evaluated it;
  it.answer(decided());
  it.run.now.validation_loss = std::numeric_limits<double>::quiet_NaN();
  CHECK(it.answer(decided()).risk_reason == "loss_spike");
  CHECK(it.state.last_validation_loss == 0.5);
}

TEST_CASE("no answer is the default: no commands, with what happened") {
  for (const auto kind : {Kind::kLate, Kind::kBusy, Kind::kFailed}) {
    Evaluated it;
    const auto result = it.answer(without(kind));
    CHECK(result.answer.kind == kind);
    CHECK(result.answer.decision.commands.empty());
    CHECK(result.fallbacks.synthetic_pause);
    CHECK(result.fallbacks.runtime == (kind == Kind::kFailed));
    CHECK(has_event(result, "tamiyo_fallback_synthetic_pause"));
    CHECK(has_event(result, "timeout_inference") == (kind != Kind::kFailed));
    CHECK(has_event(result, "tamiyo_runtime_fallback") == (kind == Kind::kFailed));
    CHECK(it.state.breaker.failures == 1);
  }
}

TEST_CASE("a timeout is reported with how long it was waited, and the deadline") {
  auto late = without(Kind::kLate);
  late.latency_ms = 2500;
  for (const auto& [answer, measured] : {std::pair{late, "2500"}, std::pair{without(Kind::kBusy), "2000"}}) {
    const auto result = Evaluated().answer(answer);
    const auto timeout = std::ranges::find(result.events, "timeout_inference", &leyline::TelemetryEvent::description);
    REQUIRE(timeout != result.events.end());
    CHECK(timeout->attributes.at("measured") == measured);
    CHECK(timeout->attributes.at("threshold") == "2000");
  }
}

TEST_CASE("a decision that names what is not there is a failure of the policy") {
  Evaluated it;
  auto answer = decided();
  answer.decision.commands[0].seed_operation->blueprint_id = "atention";
  const auto blueprint = it.answer(answer);
  CHECK(blueprint.answer.kind == Kind::kFailed);
  CHECK(blueprint.answer.decision.commands.empty());
  CHECK(blueprint.fallbacks.blueprint);
  CHECK(has_event(blueprint, "tamiyo_fallback_blueprint"));
  answer = decided();
  answer.decision.commands[2].target_seed_id = "seed-0009";
  CHECK(it.answer(answer).fallbacks.seed);
  answer = decided();
  answer.decision.assessment.emplace().risk = std::numeric_limits<double>::quiet_NaN();
  const auto malformed = it.answer(answer);
  CHECK(malformed.fallbacks.runtime);
  CHECK_FALSE(malformed.assessment);
  CHECK(it.state.breaker.state == BreakerState::kOpen);  // the third in a row
}

TEST_CASE(
    "the breaker opens at the third failure, probes after its time, closes, and conservative mode ends after it") {
  Evaluated it;
  it.answer(without(Kind::kFailed));
  it.answer(without(Kind::kLate));
  const auto third = it.answer(without(Kind::kBusy));
  CHECK(has_event(third, "breaker_event"));
  CHECK(has_event(third, "conservative_entered"));
  it.now += milliseconds(99);
  const auto barred = it.answer(decided());
  CHECK(barred.answer.kind == Kind::kBreakerOpen);
  CHECK(barred.risk_reason == "conservative_mode");
  CHECK(it.state.breaker.failures == 3);  // who is not asked does not fail
  it.now += milliseconds(1);
  const auto probe = it.answer(decided());
  CHECK(it.state.breaker.state == BreakerState::kClosed);
  CHECK(std::ranges::count(probe.events, "breaker_event", &leyline::TelemetryEvent::description) == 2);
  CHECK(probe.answer.decision.commands.empty());  // conservative mode was on
  CHECK(has_event(probe, "conservative_exited"));
  CHECK(it.answer(decided()).answer.decision.commands.size() == 3);
}

TEST_CASE("the run's own figures are judged where they were measured") {
  CHECK(Evaluated().answer(decided(), {.hook_ms = 51}).risk_reason == "hook_budget");
  CHECK(Evaluated().answer(decided(), {.step_ms = 121}).risk_reason == "step_latency_high");
  CHECK(Evaluated().answer(decided(), {.isolation_violations = 1}).risk_reason == "isolation_violations");
  CHECK(Evaluated().answer(decided(), {.gradient_conflict = 0.6}).risk_reason == "grad_conflict_high");
}

}  // namespace esper::tamiyo::evaluation_test
