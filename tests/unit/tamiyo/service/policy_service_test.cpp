#include "tamiyo/service/policy_service.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "base/error.h"
#include "leyline/seed_command.h"
#include "support/patience.h"
#include "support/scripted_controller.h"
#include "unit/tamiyo/decided_run.h"

namespace esper::tamiyo::policy_service_test {
namespace {

using leyline::Decision;
using leyline::Observation;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = Answer::Kind;

// The service over a controller that does what the test says, in this thread and by a clock that the test moves.
struct ServedRun {
  std::shared_ptr<base::ManualTime> time = std::make_shared<base::ManualTime>();
  DecidedRun run;
  PolicyService service;

  explicit ServedRun(test::ScriptedController::Script script)
      : service(std::make_unique<Consultation>(test::scripted(std::move(script)), base::Clock(time), seconds(2),
                                               Pace::kImmediate),
                {}, base::Clock(time)) {}

  ServiceReport epoch() {
    auto report = service.evaluate(run.now);
    ++run.now.current_epoch;
    return report;
  }
};

Decision cull(const Observation& seen) {
  return {{leyline::seed_command(test::command_id(seen), leyline::SeedOperation::kCull, "seed-0001")}, "cull"};
}

double value_in(const ServiceReport& report, std::string_view name) {
  const auto found = std::ranges::find(report.metrics, name, &leyline::MetricValue::name);
  REQUIRE(found != report.metrics.end());
  return found->value;
}

bool has_event(const ServiceReport& report, std::string_view name) {
  return std::ranges::find(report.evaluation.events, name, &leyline::TelemetryEvent::description) !=
         report.evaluation.events.end();
}

nlohmann::json saved_service(const PolicyService& service) {
  return nlohmann::json::parse(service.state()).at("service");
}

}  // namespace

TEST_CASE("a decision is carried out, reported, and observed for an epoch") {
  ServedRun it(cull);
  const auto first = it.epoch();
  REQUIRE(first.evaluation.answer.decision.commands.size() == 1);
  CHECK(first.closed.empty());
  CHECK(value_in(first, "tamiyo.field_reports.pending_total") == 1);
  CHECK(value_in(first, "tamiyo.conservative_mode") == 0);
  CHECK(value_in(first, "tamiyo.breaker.inference_state") == 1);
  it.run.now.validation_loss = 0.4;
  const auto second = it.epoch();
  REQUIRE(second.closed.size() == 1);
  CHECK(second.closed[0].command_id == "command-3");
  CHECK(second.closed[0].outcome == Outcome::kSuccess);
  const auto& events = second.evaluation.events;
  const auto reported = std::ranges::find(events, "tamiyo.field_report", &leyline::TelemetryEvent::description);
  REQUIRE(reported != events.end());
  CHECK(reported->attributes.at("outcome") == "SUCCESS");
  CHECK(reported->attributes.at("loss_delta") == "-0.1");
  CHECK(value_in(second, "tamiyo.field_reports.published_total") == 1);
}

TEST_CASE("the figures of a policy that estimates are metrics") {
  ServedRun it([](const Observation&) {
    Decision decision{{}, "wait"};
    auto& figures = decision.assessment.emplace();
    figures.value = 0.5;
    figures.risk = 0.25;
    figures.risk_index = 1;
    figures.seed_index = 2;
    figures.seed_score = 1.5;
    figures.blueprint_index = 0;
    figures.blending = {"cosine", 1, 0.25, 0.75};
    return decision;
  });
  const auto report = it.epoch();
  CHECK(value_in(report, "tamiyo.policy.value_estimate") == 0.5);
  CHECK(value_in(report, "tamiyo.policy.risk_score") == 0.25);
  CHECK(value_in(report, "tamiyo.selection.seed_score") == 1.5);
  CHECK(value_in(report, "tamiyo.blending.method_index") == 1);
  CHECK(value_in(report, "tamiyo.blending.schedule_end") == 0.75);
}

TEST_CASE(
    "a controller that throws, is late or names what is not there opens the breaker; it is probed, and works again") {
  int calls = 0;
  ServedRun it([&](const Observation& seen) -> Decision {
    ++calls;
    if (calls == 1) throw std::runtime_error("no idea");
    if (calls == 2) it.time->advance(seconds(3));
    if (calls == 3) return {{leyline::germination("a", "r0c1", "atention")}, "?"};
    return cull(seen);
  });
  CHECK(has_event(it.epoch(), "tamiyo_runtime_fallback"));
  CHECK(has_event(it.epoch(), "timeout_inference"));
  const auto third = it.epoch();
  CHECK(has_event(third, "tamiyo_fallback_blueprint"));
  CHECK(value_in(third, "tamiyo.breaker.inference_state") == 2);
  CHECK(value_in(third, "tamiyo.conservative_mode") == 1);
  CHECK(value_in(third, "tamiyo.late_answers_total") == 1);
  CHECK(it.epoch().evaluation.answer.kind == Kind::kBreakerOpen);
  CHECK(calls == 3);
  it.time->advance(milliseconds(100));
  CHECK(it.epoch().evaluation.answer.decision.commands.empty());
  CHECK(calls == 4);
  const auto after = saved_service(it.service), fresh = saved_service(ServedRun(cull).service);
  for (const auto* name : {"breaker", "breaker_failures", "breaker_successes", "conservative", "calm_evaluations"}) {
    INFO(name);
    CHECK(after.at(name) == fresh.at(name));
  }
  CHECK(it.epoch().evaluation.answer.decision.commands.size() == 1);
}

TEST_CASE("a controller that sleeps past the deadline costs the deadline and no more") {
  std::promise<void> barrier;
  const auto opened = barrier.get_future().share();
  PolicyService service(std::make_unique<Consultation>(test::scripted([opened](const Observation& seen) {
                                                         opened.wait();
                                                         return cull(seen);
                                                       }),
                                                       base::Clock(), milliseconds(20)),
                        {}, base::Clock());
  const auto begin = std::chrono::steady_clock::now();
  const auto report = service.evaluate(DecidedRun().now);
  CHECK(std::chrono::steady_clock::now() - begin < test::kPatience);
  CHECK(report.evaluation.answer.kind == Kind::kLate);
  CHECK(report.evaluation.answer.decision.commands.empty());
  CHECK(service.evaluate(DecidedRun().now).evaluation.answer.kind == Kind::kBusy);
  barrier.set_value();
}

TEST_CASE("a resumed service goes on as the one before it; a controller's own state serves, too") {
  ServedRun it(cull);
  it.epoch();
  it.run.now.validation_loss = 0.7;
  it.epoch();  // a spike
  const auto saved = it.service.state();
  ServedRun resumed(cull);
  resumed.run.now = it.run.now;
  resumed.service.restore(saved);
  CHECK(resumed.service.state() == saved);
  CHECK(resumed.epoch().evaluation.risk_reason == "conservative_mode");
  ServedRun fresh(cull);
  fresh.service.restore(R"({"epoch":41})");
  CHECK(nlohmann::json::parse(fresh.service.state()).at("epoch") == 41);
  CHECK(saved_service(fresh.service) == saved_service(ServedRun(cull).service));
  CHECK_THROWS_AS(fresh.service.restore("{"), base::Error);
  CHECK_THROWS_AS(fresh.service.restore(R"({"service":{"breaker":"AJAR"}})"), base::Error);
}

TEST_CASE("a rejected command is observed no further, and one that the run's end leaves unobserved is aborted") {
  ServedRun it(cull);
  it.epoch();
  it.service.report_rejection("command-3");
  CHECK(it.service.reports().pending().empty());
  CHECK(it.service.reports().published() == 1);
  it.run.now.is_last = true;
  const auto last = it.epoch();
  CHECK(it.service.reports().pending().empty());
  REQUIRE(last.closed.size() == 1);
  CHECK(last.closed[0].outcome == Outcome::kAborted);
  const auto& events = last.evaluation.events;
  const auto reported = std::ranges::find(events, "tamiyo.field_report", &leyline::TelemetryEvent::description);
  REQUIRE(reported != events.end());
  CHECK(reported->attributes.at("outcome") == "ABORTED");
  CHECK(reported->attributes.at("epochs") == "0");
}

}  // namespace esper::tamiyo::policy_service_test
