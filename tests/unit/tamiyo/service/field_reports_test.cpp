#include "tamiyo/service/field_reports.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "leyline/seed_command.h"

namespace esper::tamiyo::field_reports_test {
namespace {

leyline::Observation after_epoch(std::uint32_t epoch, double loss = 0.5) {
  leyline::Observation seen;
  seen.training_run_id = "run";
  seen.current_epoch = epoch;
  seen.validation_loss = loss;
  seen.validation_accuracy = 0.8;
  return seen;
}

leyline::Decision germinates(const std::string& id) {
  leyline::Decision decision{{leyline::germination(id, "r0c1", "norm")}, {}};
  decision.commands[0].issued_by = "tamiyo.gnn";
  return decision;
}

}  // namespace

TEST_CASE("the outcome follows the reason of the evaluations observed") {
  for (const auto* reason : {"loss_spike", "isolation_violations", "hook_budget"}) {
    CHECK(outcome_of(reason) == Outcome::kRegression);
  }
  for (const auto* reason : {"timeout_inference", "conservative_mode", "runtime_failure", "breaker_open"}) {
    CHECK(outcome_of(reason) == Outcome::kNeutral);
  }
  CHECK(outcome_of("policy") == Outcome::kSuccess);
  CHECK(outcome_of("loss_warning") == Outcome::kSuccess);
}

TEST_CASE("a report observes its window, then is closed with what changed") {
  FieldReports reports({.window_epochs = 2});
  reports.open(germinates("a"), after_epoch(1), 1);
  REQUIRE(reports.pending().size() == 1);
  CHECK(reports.observe(after_epoch(2, 0.45), "policy").empty());
  const auto closed = reports.observe(after_epoch(3, 0.4), "policy");
  REQUIRE(closed.size() == 1);
  const auto& report = closed.front();
  CHECK(report.command_id == "a");
  CHECK(report.blueprint_id == "norm");
  CHECK(report.slot == "r0c1");
  CHECK(report.policy == "tamiyo.gnn");
  CHECK(report.epoch == 1);
  CHECK(report.observation_window_epochs == 2);
  CHECK(report.outcome == Outcome::kSuccess);
  CHECK(report.metrics.at("validation_loss_delta") == 0.4 - 0.5);
  CHECK(report.metrics.at("validation_accuracy_delta") == 0);
  CHECK(reports.pending().empty());
  CHECK(reports.published() == 1);
}

TEST_CASE("what was measured before a command was carried out says nothing of it") {
  FieldReports reports;
  reports.open(germinates("a"), after_epoch(1, 0.9), 2);
  CHECK(reports.observe(after_epoch(2, 0.5), "loss_spike").empty());  // the epoch at whose end it was
  FieldReports resumed;
  resumed.load(reports.save());
  const auto closed = resumed.observe(after_epoch(3, 0.4), "policy");
  REQUIRE(closed.size() == 1);
  CHECK(closed.front().outcome == Outcome::kSuccess);
  CHECK(closed.front().metrics.at("validation_loss_delta") == 0.4 - 0.5);
}

TEST_CASE("the gravest reason of the window stays") {
  FieldReports reports({.window_epochs = 3});
  reports.open(germinates("a"), after_epoch(1), 1);
  CHECK(reports.observe(after_epoch(2), "timeout_inference").empty());
  CHECK(reports.observe(after_epoch(3), "loss_spike").empty());
  const auto closed = reports.observe(after_epoch(4), "policy");
  REQUIRE(closed.size() == 1);
  CHECK(closed[0].risk_reason == "loss_spike");
  CHECK(closed[0].outcome == Outcome::kRegression);
}

TEST_CASE("what is not observed to the end is aborted") {
  FieldReports reports({.window_epochs = 3});
  reports.open(germinates("a"), after_epoch(1), 1);
  reports.open(germinates("b"), after_epoch(1), 1);
  reports.abort("unknown");
  CHECK(reports.pending().size() == 2);
  reports.abort("b");
  CHECK(reports.published() == 1);
  reports.observe(after_epoch(2, 0.4), "policy");
  reports.open(germinates("c"), after_epoch(2), 2);
  const auto aborted = reports.abort_all();
  REQUIRE(aborted.size() == 2);
  for (const auto& report : aborted) CHECK(report.outcome == Outcome::kAborted);
  CHECK(report_event(aborted[0]).attributes.at("loss_delta") == "-0.1");
  CHECK(report_event(aborted[1]).attributes.at("loss_delta").empty());  // no epoch was observed
  CHECK(reports.pending().empty());
  CHECK(reports.published() == 3);
}

TEST_CASE("pending reports are restored exactly") {
  FieldReports reports({.window_epochs = 2});
  reports.open(germinates("a"), after_epoch(1), 1);
  reports.observe(after_epoch(2, 0.45), "timeout_inference");
  FieldReports resumed({.window_epochs = 2});
  resumed.load(nlohmann::json::parse(reports.save().dump()));
  CHECK(resumed.save() == reports.save());
  CHECK(resumed.observe(after_epoch(3, 0.4), "policy") == reports.observe(after_epoch(3, 0.4), "policy"));
  CHECK_THROWS_AS(resumed.load(nlohmann::json::parse("{}")), nlohmann::json::exception);
}

}  // namespace esper::tamiyo::field_reports_test
