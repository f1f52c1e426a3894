#include "tolaria/safety/epoch_check.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <limits>
#include <string>

#include "support/run_fixture.h"

namespace esper::test::epoch_check_test {

using tolaria::EpochCheck;
using tolaria::EpochEndTransaction;
using tolaria::RunEnd;
using tolaria::RunSafety;
using Outcome = tolaria::RunOutcome::Kind;
using Verdict = tolaria::LossVerdict::Kind;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The first epoch of a run without seeds, with good losses.
struct CheckedRun {
  explicit CheckedRun(const config::RunConfig& config = small_config()) : it(config) {
    metrics.steps = 6;
    metrics.loss = 0.5;
    metrics.gradient_norm = 2.5;
    measured.running.loss = 0.4;
  }
  EpochCheck::Result check() {
    return epoch_check.check({metrics, measured, nonfinite_reason, [](std::int64_t) { return false; }});
  }

  SmallRun it;
  RunEnd end{it.facts, it.progress, it.saver, it.outbox};
  RunSafety safety{it.evaluation, it.progress, it.saver, it.outbox, end};
  EpochEndTransaction transaction{it.progress, it.saver, it.outbox};
  EpochCheck epoch_check{it.evaluation, it.progress, safety, transaction, end, nullptr};
  step::StepMetrics metrics;
  tolaria::Measurements measured;
  std::string nonfinite_reason;
};

}  // namespace

TEST_CASE("a run goes on from an epoch with good losses") {
  CheckedRun run;
  const auto checked = run.check();
  CHECK(checked.verdict.kind == Verdict::kGood);
  CHECK_FALSE(checked.outcome);
}

TEST_CASE("an epoch whose numbers are not finite is trained again from a checkpoint, or ends the run") {
  auto config = small_config();
  config.safety.most_rate_cuts = GENERATE(0, 1);
  CheckedRun run(config);
  std::string reason, loss = "0.5";
  SECTION("its training loss") {
    run.metrics.loss = kNaN;
    loss = "nan";
    reason = "the training loss is not finite";
  }
  SECTION("its validation loss") {
    run.measured.running.loss = kNaN;
    reason = "the validation loss is not finite";
  }
  SECTION("the loss of one of its steps") { reason = run.nonfinite_reason = "batch.0.inputs is not finite"; }
  const auto outcome = run.check().outcome;
  REQUIRE(outcome);
  CHECK(outcome->kind == (config.safety.most_rate_cuts > 0 ? Outcome::kRestart : Outcome::kDiverged));
  CHECK(outcome->reason.starts_with(reason));
  const auto diverged = run.it.events("tolaria.diverged");
  REQUIRE(diverged.size() == (config.safety.most_rate_cuts > 0 ? 0 : 1));
  if (diverged.empty()) return;
  CHECK(diverged[0].attributes.at("loss") == loss);
  CHECK(diverged[0].attributes.at("gradient_norm") == "2.5");
}

TEST_CASE("a run goes on from an epoch with a suspect loss, but not from the third in a row") {
  CheckedRun run;
  run.it.progress.safety.losses.assign(10, 0.4);
  run.measured.running.loss = 100;
  SECTION("the second") {
    run.it.progress.safety.suspect_epochs = 1;
    const auto checked = run.check();
    CHECK(checked.verdict.kind == Verdict::kSuspect);
    CHECK_FALSE(checked.outcome);
  }
  SECTION("the third") {
    run.it.progress.safety.suspect_epochs = 2;
    const auto outcome = run.check().outcome;
    REQUIRE(outcome);
    CHECK(outcome->kind == Outcome::kRestart);
  }
}

}  // namespace esper::test::epoch_check_test
