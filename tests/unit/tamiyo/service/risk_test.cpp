#include "tamiyo/service/risk.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <set>

namespace esper::tamiyo::risk_test {
namespace {

using leyline::Level;

RiskInputs growing() {
  RiskInputs inputs;
  inputs.germinates = true;
  return inputs;
}

// One figure at its threshold, and just before it.
struct Case {
  std::string_view reason;
  std::optional<double> RiskInputs::* figure;
  double quiet, beyond;
  Change change;
  bool of_growth;  // otherwise of any decision
  bool conservative = false;
};
const Case kCases[] = {
    {"policy_risk_critical", &RiskInputs::policy_risk, 0.84, 0.98, Change::kPause, false, true},
    {"policy_risk_elevated", &RiskInputs::policy_risk, 0.849, 0.85, Change::kHoldGrowth, true},
    {"loss_spike", &RiskInputs::loss_delta, 0.07, 0.151, Change::kPause, false, true},
    {"loss_warning", &RiskInputs::loss_delta, 0.075, 0.0751, Change::kHoldGrowth, true},
    {"hook_budget", &RiskInputs::hook_ms, 50, 50.1, Change::kPause, false},
    {"step_latency_high", &RiskInputs::step_ms, 120, 120.1, Change::kPause, false},
    {"kasmina_apply_slow", &RiskInputs::apply_ms, 30, 30.1, Change::kHoldGrowth, true},
    {"isolation_violations", &RiskInputs::isolation_violations, 0, 1, Change::kPause, false},
    {"cpu_pressure_high", &RiskInputs::cpu_utilization_percent, 94.9, 95, Change::kHoldGrowth, true},
    {"loss_volatility_high", &RiskInputs::loss_volatility, 0.1125, 0.1126, Change::kHoldGrowth, true},
    {"grad_variance_high", &RiskInputs::gradient_variance, 1, 1.01, Change::kHoldGrowth, true},
    {"grad_conflict_high", &RiskInputs::gradient_conflict, 0.5, 0.51, Change::kHoldGrowth, true},
    {"degraded_inputs", &RiskInputs::coverage, 0.30, 0.10, Change::kPause, false},
};

RiskAssessment assessed(const RiskInputs& inputs) { return assess(inputs, {}); }

}  // namespace

TEST_CASE("nothing measured speaks for nothing") {
  for (const bool germinates : {false, true}) {
    RiskInputs inputs;
    inputs.germinates = germinates;
    const auto result = assessed(inputs);
    CHECK(result.change == Change::kNone);
    CHECK(result.reason == "policy");
    CHECK(result.findings.empty());
    CHECK_FALSE(result.conservative);
  }
}

TEST_CASE("each rule speaks beyond its threshold and not before it") {
  for (const auto& it : kCases) {
    INFO(it.reason);
    RiskInputs inputs = growing();
    inputs.*it.figure = it.quiet;
    CHECK(assessed(inputs).findings.empty());
    inputs.*it.figure = it.beyond;
    const auto result = assessed(inputs);
    CHECK(result.change == it.change);
    CHECK(result.reason == it.reason);
    CHECK(result.conservative.has_value() == it.conservative);
    REQUIRE(result.findings.size() == 1);
    const auto& [rule, verdict] = result.findings.front();
    CHECK(verdict.measured == it.beyond);
    REQUIRE(rule->event != nullptr);
    CHECK(rule->event(verdict).description == it.reason);
    inputs.germinates = false;
    CHECK((assessed(inputs).change == Change::kNone) == it.of_growth);
  }
}

TEST_CASE("a high risk of a decision that does not germinate is reported, and critical from its threshold on") {
  RiskInputs inputs;
  inputs.policy_risk = 0.979;
  const auto signal = assessed(inputs);
  CHECK(signal.change == Change::kNone);
  REQUIRE(signal.findings.size() == 1);
  CHECK(signal.findings[0].rule->reason == "policy_risk_signal");
  inputs.policy_risk = 0.98;
  const auto critical = assessed(inputs);
  REQUIRE(critical.findings.size() == 1);
  CHECK(critical.findings[0].verdict.level == Level::kCritical);
}

TEST_CASE("conservative mode and a late answer pause; the mode has no event of its own") {
  RiskInputs inputs;
  inputs.is_conservative = true;
  const auto conservative = assessed(inputs);
  CHECK(conservative.change == Change::kPause);
  CHECK(conservative.reason == kConservativeReason);
  CHECK(conservative.findings.front().rule->event == nullptr);
  inputs.is_conservative = false;
  inputs.late_ms = 2000;
  CHECK(assessed(inputs).reason == "timeout_inference");
}

TEST_CASE("a GPU under pressure is in use and nearly full") {
  RiskInputs inputs = growing();
  inputs.gpu_utilization_percent = 95;
  inputs.gpu_free_gb = 0.21;
  CHECK(assessed(inputs).change == Change::kNone);
  inputs.gpu_free_gb = 0.2;
  CHECK(assessed(inputs).reason == "device_pressure_high");
  CHECK(assessed(inputs).change == Change::kPause);
  inputs.gpu_utilization_percent = 94;
  CHECK(assessed(inputs).change == Change::kNone);
  inputs.gpu_utilization_percent.reset();
  CHECK(assessed(inputs).change == Change::kNone);
}

TEST_CASE("a learning rate of 0 is hinted at while the loss rises") {
  RiskInputs inputs;
  inputs.learning_rate = 0;
  CHECK(assessed(inputs).findings.empty());
  inputs.loss_delta = 0.01;
  REQUIRE(assessed(inputs).findings.size() == 1);
  CHECK(assessed(inputs).findings[0].rule->reason == "optimizer_hint");
  CHECK(assessed(inputs).change == Change::kNone);
  inputs.learning_rate = 1e-9;
  CHECK(assessed(inputs).findings.empty());
}

TEST_CASE("few inputs are reported, very few pause") {
  RiskInputs inputs;
  inputs.coverage = 0.299;
  const auto few = assessed(inputs);
  REQUIRE(few.findings.size() == 1);
  CHECK(few.findings[0].verdict.level == Level::kInfo);
  CHECK(few.change == Change::kNone);
  inputs.coverage = 0.101;
  CHECK(assessed(inputs).change == Change::kNone);
  inputs.coverage = 0.10;
  REQUIRE(assessed(inputs).findings.size() == 1);
  CHECK(assessed(inputs).findings[0].verdict.level == Level::kCritical);
}

TEST_CASE("the strongest change wins, of equal ones the first; later rules no longer see a growth that was held") {
  RiskInputs inputs = growing();
  inputs.loss_volatility = 1;
  inputs.gradient_variance = 5;
  const auto held = assessed(inputs);
  CHECK(held.reason == "loss_volatility_high");
  CHECK(held.findings.size() == 1);
  inputs.loss_delta = 0.1;          // holds, before them
  inputs.isolation_violations = 3;  // pauses, after it
  const auto paused = assessed(inputs);
  CHECK(paused.change == Change::kPause);
  CHECK(paused.reason == "isolation_violations");
  CHECK(paused.findings.size() == 2);
}

TEST_CASE("a loss that falls is not volatile, however far it fell") {
  RiskInputs inputs = growing();
  inputs.loss_volatility = 1;
  inputs.loss_above_mean = -0.01;
  CHECK(assessed(inputs).change == Change::kNone);
  inputs.loss_above_mean = 0.01;
  CHECK(assessed(inputs).change == Change::kHoldGrowth);
}

TEST_CASE("a figure that is no number holds nothing back") {
  RiskInputs inputs = growing();
  for (const auto& it : kCases) inputs.*it.figure = std::numeric_limits<double>::quiet_NaN();
  CHECK(assessed(inputs).findings.empty());
}

TEST_CASE("each rule with an event has one of its own name, and all but coverage are named once") {
  std::multiset<std::string_view> names;
  for (const auto& rule : risk_rules()) {
    names.insert(rule.reason);
    if (rule.event != nullptr) CHECK(rule.event(rule.verdict).description == rule.reason);
  }
  for (const auto& name : names) CHECK(names.count(name) == (name == "degraded_inputs" ? 2U : 1U));
}

}  // namespace esper::tamiyo::risk_test
