// What a policy can do wrong, one row each: no command of it is carried out, training waits no longer than the
// deadline, what happened is reported, and the breaker opens, probes and closes.
// tests/integration/run/gnn_faults_test.cpp does some of it to whole runs. An answer that comes twice has no way in
// from a controller in the process, which returns once; answer_box_test.cpp has it.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <future>
#include <limits>
#include <stdexcept>

#include "leyline/seed_command.h"
#include "support/scripted_controller.h"
#include "tamiyo/gnn_controller.h"
#include "tamiyo/service/policy_service.h"
#include "unit/tamiyo/decided_run.h"

namespace esper::tamiyo::policy_service_faults_test {
namespace {

using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;
using std::chrono::milliseconds;
using Kind = Answer::Kind;

constexpr milliseconds kDeadline(20);
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// While `fails`, the controller does what the row says; else it decides nothing.
struct Situation {
  std::shared_ptr<base::ManualTime> time = std::make_shared<base::ManualTime>();
  bool fails = true;
  int calls = 0;
};

using MakeController = std::unique_ptr<leyline::Controller> (*)(Situation& situation);

template <Decision (*kFault)(const Observation& seen, Situation& situation)>
std::unique_ptr<leyline::Controller> decides(Situation& situation) {
  return test::scripted([&situation](const Observation& seen) {
    ++situation.calls;
    return situation.fails ? kFault(seen, situation) : Decision{{}, "nothing"};
  });
}

Decision sleeps(const Observation&, Situation& situation) {
  situation.time->advance(kDeadline + milliseconds(1));
  return {{}, "too late"};
}
Decision throws(const Observation&, Situation&) { throw std::runtime_error("no idea"); }
Decision throws_a_number(const Observation&, Situation&) { throw 7; }
Decision names_no_blueprint(const Observation& seen, Situation&) {
  return {{leyline::germination(test::command_id(seen), "r0c1", "no_such_blueprint")}, "?"};
}
Decision names_no_slot(const Observation& seen, Situation&) {
  return {{leyline::germination(test::command_id(seen), "r9c9", "norm")}, "?"};
}
Decision names_no_seed(const Observation& seen, Situation&) {
  return {{leyline::seed_command(test::command_id(seen), SeedOperation::kCull, "seed-0099")}, "?"};
}
Decision has_no_id(const Observation&, Situation&) {
  return {{leyline::seed_command("", SeedOperation::kCull, "seed-0001")}, "?"};
}
Decision has_too_many(const Observation& seen, Situation&) {
  const auto one = leyline::seed_command(test::command_id(seen), SeedOperation::kCull, "seed-0001");
  return {std::vector(1000, one), "?"};
}
Decision has_a_parameter_that_is_no_number(const Observation& seen, Situation&) {
  Decision decision{{leyline::germination(test::command_id(seen), "r0c1", "norm")}, "?"};
  decision.commands[0].seed_operation->parameters["alpha_target"] = kNaN;
  return decision;
}
Decision estimates_no_number(const Observation& seen, Situation&) {
  Decision decision{{leyline::seed_command(test::command_id(seen), SeedOperation::kCull, "seed-0001")}, "?"};
  decision.assessment.emplace().risk = kNaN;
  return decision;
}

std::unique_ptr<leyline::Controller> network_without_numbers(Situation& situation) {
  const auto network = [&situation](const HeteroGraph& graph) -> base::Expected<PolicyOutputs> {
    ++situation.calls;
    PolicyOutputs outputs;
    outputs.policy_logits.fill(situation.fails ? std::nanf("") : 0.0F);
    outputs.policy_logits[0] += 1;
    outputs.seed_scores.assign(static_cast<std::size_t>(graph.nodes[static_cast<int>(NodeType::kSeed)].count), 0);
    outputs.blueprint_scores.assign(static_cast<std::size_t>(graph.nodes[static_cast<int>(NodeType::kBlueprint)].count),
                                    0);
    return outputs;
  };
  return std::make_unique<GnnController>(network, GnnSettings{}, base::Clock(situation.time));
}

struct Fault {
  const char* name;
  MakeController controller;
  Kind kind;
  const char* event;
  const char* metric;
};
constexpr Fault kFaults[] = {
    {"sleeps", decides<sleeps>, Kind::kLate, "timeout_inference", "tamiyo.fallback.synthetic_pause"},
    {"throws", decides<throws>, Kind::kFailed, "tamiyo_runtime_fallback", "tamiyo.fallback.runtime"},
    {"throws 7", decides<throws_a_number>, Kind::kFailed, "tamiyo_runtime_fallback", "tamiyo.fallback.runtime"},
    {"NaN logits", network_without_numbers, Kind::kFailed, "tamiyo_runtime_fallback", "tamiyo.fallback.runtime"},
    {"blueprint", decides<names_no_blueprint>, Kind::kFailed, "tamiyo_fallback_blueprint", "tamiyo.fallback.blueprint"},
    {"slot", decides<names_no_slot>, Kind::kFailed, "tamiyo_fallback_seed", "tamiyo.fallback.seed"},
    {"seed", decides<names_no_seed>, Kind::kFailed, "tamiyo_fallback_seed", "tamiyo.fallback.seed"},
    {"no id", decides<has_no_id>, Kind::kFailed, "tamiyo_runtime_fallback", "tamiyo.fallback.runtime"},
    {"1000 commands", decides<has_too_many>, Kind::kFailed, "tamiyo_runtime_fallback", "tamiyo.fallback.runtime"},
    {"NaN parameter", decides<has_a_parameter_that_is_no_number>, Kind::kFailed, "tamiyo_runtime_fallback",
     "tamiyo.fallback.runtime"},
    {"NaN risk", decides<estimates_no_number>, Kind::kFailed, "tamiyo_runtime_fallback", "tamiyo.fallback.runtime"},
};

// What the network does not see here is no fault.
ServiceSettings sees_little() {
  ServiceSettings settings;
  settings.risk.critical_coverage = 0;
  return settings;
}

struct FaultyRun {
  Situation situation;
  DecidedRun run;
  ServiceSettings settings = sees_little();
  PolicyService service;

  explicit FaultyRun(MakeController controller)
      : service(std::make_unique<Consultation>(controller(situation), base::Clock(situation.time), kDeadline,
                                               Pace::kImmediate),
                settings, base::Clock(situation.time)) {}

  ServiceReport epoch() {
    auto report = service.evaluate(run.now);
    ++run.now.current_epoch;
    return report;
  }
};

double value_in(const ServiceReport& report, std::string_view name) {
  const auto found = std::ranges::find(report.metrics, name, &leyline::MetricValue::name);
  REQUIRE(found != report.metrics.end());
  return found->value;
}

// "CLOSED>OPEN ", of the evaluation's events.
std::string changes_of_breaker(const ServiceReport& report) {
  std::string changes;
  for (const auto& event : report.evaluation.events) {
    if (event.description == "breaker_event")
      changes += event.attributes.at("from") + ">" + event.attributes.at("to") + " ";
  }
  return changes;
}

bool has_event(const ServiceReport& report, std::string_view name) {
  return std::ranges::find(report.evaluation.events, name, &leyline::TelemetryEvent::description) !=
         report.evaluation.events.end();
}

void check_default_action(const ServiceReport& report) {
  CHECK(report.evaluation.answer.decision.commands.empty());
  CHECK(value_in(report, "tamiyo.fallback.synthetic_pause") == 1);
  CHECK(has_event(report, "tamiyo_fallback_synthetic_pause"));
  CHECK(value_in(report, "tamiyo.field_reports.pending_total") == 0);
}

}  // namespace

TEST_CASE("each fault of a policy: the default is done, it is reported, and the breaker opens, probes and closes") {
  const auto fault = GENERATE(Catch::Generators::from_range(std::begin(kFaults), std::end(kFaults)));
  CAPTURE(fault.name);
  FaultyRun it(fault.controller);
  const auto check_fault = [&](const ServiceReport& report) {
    CHECK(report.evaluation.answer.kind == fault.kind);
    CHECK_FALSE(report.evaluation.answer.problem.empty());
    CHECK(has_event(report, fault.event));
    CHECK(value_in(report, fault.metric) == 1);
    check_default_action(report);
  };
  const int threshold = it.settings.breaker.failure_threshold;
  for (int failure = 1; failure < threshold; ++failure) {
    const auto report = it.epoch();
    check_fault(report);
    CHECK(value_in(report, "tamiyo.breaker.inference_failures") == failure);
    CHECK(changes_of_breaker(report).empty());
    CHECK(value_in(report, "tamiyo.conservative_mode") == 0);
  }
  const auto last = it.epoch();
  check_fault(last);
  CHECK(changes_of_breaker(last) == "CLOSED>OPEN ");
  CHECK(has_event(last, "conservative_entered"));
  CHECK(value_in(last, "tamiyo.breaker.inference_state") == 2);

  const int asked = it.situation.calls;
  const auto skipped = it.epoch();
  CHECK(skipped.evaluation.answer.kind == Kind::kBreakerOpen);
  CHECK(it.situation.calls == asked);
  check_default_action(skipped);

  it.situation.time->advance(it.settings.breaker.open_time);
  const auto probe = it.epoch();
  check_fault(probe);
  CHECK(it.situation.calls == asked + 1);
  CHECK(changes_of_breaker(probe) == "OPEN>HALF_OPEN HALF_OPEN>OPEN ");
  CHECK(it.epoch().evaluation.answer.kind == Kind::kBreakerOpen);

  it.situation.fails = false;
  it.situation.time->advance(it.settings.breaker.open_time);
  const auto cured = it.epoch();
  CHECK(cured.evaluation.answer.kind == Kind::kDecided);
  CHECK(changes_of_breaker(cured) == "OPEN>HALF_OPEN HALF_OPEN>CLOSED ");
  CHECK(has_event(cured, "conservative_exited"));
  CHECK(value_in(cured, "tamiyo.breaker.inference_failures") == 0);
  CHECK(value_in(cured, "tamiyo.fallback.synthetic_pause") == 0);
  CHECK(value_in(cured, "tamiyo.late_answers_total") == (fault.kind == Kind::kLate ? threshold + 1 : 0));
}

// A machine that other programs keep busy wakes a thread late, so the best of many attempts counts: the service itself
// adds less than 1 ms to the deadline.
TEST_CASE("training waits for a policy that hangs until the deadline, and at most 1 ms more") {
  constexpr int kAttempts = 100;
  std::promise<void> promise;
  const auto opened = promise.get_future().share();
  base::Duration beyond = base::Duration::max();
  for (int attempt = 0; attempt < kAttempts && beyond > milliseconds(1); ++attempt) {
    PolicyService service(std::make_unique<Consultation>(test::scripted([opened](const Observation&) {
                                                           opened.wait();
                                                           return Decision{};
                                                         }),
                                                         base::Clock(), kDeadline),
                          {}, base::Clock());
    const auto observation = DecidedRun().now;
    const base::Clock clock;
    const auto begin = clock.now();
    const auto report = service.evaluate(observation);
    const auto waited = clock.now() - begin;
    CHECK(report.evaluation.answer.kind == Kind::kLate);
    CHECK(waited >= kDeadline);
    beyond = std::min(beyond, waited - kDeadline);
  }
  promise.set_value();
  CHECK(beyond <= milliseconds(1));
}

}  // namespace esper::tamiyo::policy_service_faults_test
