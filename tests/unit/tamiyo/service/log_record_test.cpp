#include "tamiyo/service/log_record.h"

#include <catch2/catch_test_macros.hpp>

#include "leyline/seed_command.h"
#include "unit/tamiyo/decided_run.h"

namespace esper::tamiyo::log_record_test {

TEST_CASE("an answer comes back from its record") {
  const Answer late{Answer::Kind::kLate, {}, "no decision within 5 ms", 5.5};
  const auto record = answer_record(late);
  CHECK(record.outcome == "late");
  const auto again = answer_of(record);
  REQUIRE(again);
  CHECK(again->kind == Answer::Kind::kLate);
  CHECK(again->problem == late.problem);
  CHECK(again->latency_ms == 5.5);
  CHECK_FALSE(answer_of({"later", "", 0, {}}));
}

TEST_CASE("figures come back from their names; what was not measured is left out") {
  RunFigures figures;
  figures.isolation_violations = 3;
  figures.gradient_conflict = 0.25;
  const auto named = named_figures(figures);
  CHECK(named == std::map<std::string, double>{{"gradient_conflict", 0.25}, {"isolation_violations", 3}});
  const auto again = run_figures(named);
  CHECK(again.isolation_violations == 3);
  CHECK(again.gradient_conflict == 0.25);
  CHECK_FALSE(again.hook_ms);
  CHECK(named_figures(run_figures({{"unknown", 1}})).empty());
}

TEST_CASE("a record has what the policy answered, and what the service made of it") {
  const DecidedRun run;
  ServiceReport report;
  report.asked = {R"({"a":1})", "{}", {}, {{"heuristic", "{}", {}}}};
  report.asked.answer.decision.commands = {leyline::seed_command("1", leyline::SeedOperation::kCull, "seed-0001")};
  report.evaluation.risk_reason = "loss_spike";
  const auto record = decision_record("gnn", run.now, {}, report);
  CHECK(record.policy == "gnn");
  CHECK(record.state == R"({"a":1})");
  CHECK(record.answer.decision.commands.size() == 1);
  CHECK(record.carried_out.commands.empty());
  CHECK(record.held_by == "loss_spike");
  CHECK(record.shadows.size() == 1);
  CHECK(record.observation.current_epoch == 3);
}

}  // namespace esper::tamiyo::log_record_test
