#include "kasmina/slot/gates.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <limits>

namespace esper::kasmina::gates_test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const config::GateConfig kConfig;

double value_of(const Verdict& verdict, const std::string& name) {
  for (const auto& [known, value] : verdict.values) {
    if (known == name) return value;
  }
  FAIL("no value " << name);
  return 0;
}

// Passes as it is; fails with each optional field just below, not finite, and not measured.
void check_field(const EpochEvidence& good, std::optional<double> EpochEvidence::* field, double below,
                 Verdict (*gate)(const EpochEvidence&, const config::GateConfig&)) {
  CHECK(gate(good, kConfig).passed);
  for (const std::optional<double> bad : {std::optional(below), std::optional(kNaN), std::optional<double>()}) {
    auto evidence = good;
    evidence.*field = bad;
    const auto verdict = gate(evidence, kConfig);
    CAPTURE(verdict.reason);
    CHECK_FALSE(verdict.passed);
    CHECK((verdict.reason.find(" failed (") != std::string::npos ||
           verdict.reason.find("not measured") != std::string::npos));
  }
}

void check_epochs(const EpochEvidence& good, Verdict (*gate)(const EpochEvidence&, const config::GateConfig&)) {
  auto early = good;
  --early.stage_epochs;
  CHECK(gate(good, kConfig).passed);
  CHECK_FALSE(gate(early, kConfig).passed);
}

TEST_CASE("G0 requires finite parameters and an unchanged output") {
  CHECK(sanity_gate({0.0, 0.0, 0.3}).passed);
  CHECK(sanity_gate({0.0, 1e-6, {}}).passed);
  CHECK_FALSE(sanity_gate({0.0, 1.1e-6, {}}).passed);
  CHECK_FALSE(sanity_gate({1.0, 0.0, {}}).passed);
  CHECK_FALSE(sanity_gate({0.0, kNaN, {}}).passed);
  CHECK_FALSE(sanity_gate({0.0, {}, {}}).passed);
  CHECK_FALSE(sanity_gate({{}, 0.0, {}}).passed);
  CHECK(value_of(sanity_gate({0.0, 0.0, 0.3}), "change_at_full_alpha") == 0.3);
  CHECK(sanity_gate({0.0, 0.0, 1e-5, 1e-5}).passed);
  CHECK_FALSE(sanity_gate({0.0, 0.0, 1.1e-5, 1e-5}).passed);
  CHECK_FALSE(sanity_gate({0.0, 0.0, {}, 1e-5}).passed);
}

TEST_CASE("G1 requires parameters with a gradient") {
  CHECK(gradient_gate({10, 0.001}).passed);
  CHECK(gradient_gate({16640, 0.5}).reason == "parameters >= 1 (measured 16640); gradient_norm > 0 (measured 0.5)");
  CHECK_FALSE(gradient_gate({10, 0.0}).passed);
  CHECK_FALSE(gradient_gate({0, 1.0}).passed);
  CHECK_FALSE(gradient_gate({10, kNaN}).passed);
  CHECK_FALSE(gradient_gate({10, {}}).passed);
}

TEST_CASE("G2 requires epochs, improvement and gradient") {
  EpochEvidence good;
  good.stage_epochs = 3;
  good.improvement_points = 0.5;
  good.gradient_ratio = 0.1;
  check_epochs(good, learning_gate);
  check_field(good, &EpochEvidence::improvement_points, 0.49, learning_gate);
  check_field(good, &EpochEvidence::gradient_ratio, 0.09, learning_gate);
  const auto verdict = learning_gate(good, kConfig);
  CHECK(verdict.reason ==
        "epochs_in_training >= 3 (measured 3); improvement_points >= 0.5 (measured 0.5); gradient_ratio >= 0.1 "
        "(measured 0.1)");
  CHECK(value_of(verdict, "gradient_ratio") == 0.1);
}

TEST_CASE("G3 requires epochs and an alpha at its target") {
  EpochEvidence good;
  good.stage_epochs = 3;
  good.alpha = good.alpha_target = 0.7;
  check_epochs(good, blending_gate);
  good.alpha = 0.699;
  CHECK_FALSE(blending_gate(good, kConfig).passed);
}

TEST_CASE("G4 bounds what full alpha may cost") {
  EpochEvidence good;
  good.stage_epochs = 1;
  good.shadow_points = -1.0;
  check_epochs(good, shadow_gate);
  check_field(good, &EpochEvidence::shadow_points, -1.01, shadow_gate);
}

TEST_CASE("G5 requires a measured contribution") {
  EpochEvidence good;
  good.stage_epochs = 1;
  good.contribution_points = 1.0;
  check_epochs(good, contribution_gate);
  check_field(good, &EpochEvidence::contribution_points, 0.99, contribution_gate);
}

leyline::SeedWorth worth_of(double loss, double points) {
  return {.points = points,
          .points_stderr = 1,
          .points_half_width = 1.96,
          .loss = loss,
          .loss_stderr = 0.1,
          .loss_half_width = 0.196,
          .epochs = 3,
          .horizon = 3};
}

EpochEvidence judged_by(const leyline::SeedWorth& worth) {
  EpochEvidence evidence;
  evidence.stage_epochs = 9;
  evidence.gradient_ratio = 1;
  evidence.worth = worth;
  return evidence;
}

config::GateConfig gates_with(config::Evidence evidence) {
  config::GateConfig config;
  config.evidence = evidence;
  return config;
}

TEST_CASE("with a control G2 stops what was shown to do harm, and nothing else") {
  const auto config = gates_with(config::Evidence::kControl);
  CHECK(learning_gate(judged_by(worth_of(-0.19, -20)), config).passed);  // up to +0.006
  const auto harmful = learning_gate(judged_by(worth_of(-0.2, 20)), config);
  CHECK_FALSE(harmful.passed);
  CHECK(harmful.reason.find("worth_loss_upper >= 0 failed (measured -0.004)") != std::string::npos);
  CHECK(value_of(harmful, "worth_loss_stderr") == 0.1);
  CHECK(value_of(harmful, "worth_loss_half_width") == 0.196);
  CHECK(value_of(harmful, "worth_points") == 20);
  CHECK(harmful.reason.find("improvement_points") == std::string::npos);
  CHECK_FALSE(learning_gate(judged_by({}), config).passed);
  auto idle = worth_of(0, 0);
  idle.loss_half_width = 0;
  CHECK(learning_gate(judged_by(idle), config).passed);
}

TEST_CASE("with a control G4 allows a drop in points down to the interval's lower end, or asks for less loss") {
  const auto config = gates_with(config::Evidence::kControl);
  CHECK(shadow_gate(judged_by(worth_of(-9, 0.97)), config).passed);  // from -0.99
  CHECK_FALSE(shadow_gate(judged_by(worth_of(0.19, 0.95)), config).passed);
  CHECK(shadow_gate(judged_by(worth_of(0.2, 0.95)), config).passed);
  CHECK_FALSE(shadow_gate(judged_by({}), config).passed);
}

TEST_CASE("with a control G5 demands a worth shown over the whole horizon, in loss or in points") {
  const auto config = gates_with(config::Evidence::kControl);
  CHECK(contribution_gate(judged_by(worth_of(0.2, -9)), config).passed);
  CHECK(contribution_gate(judged_by(worth_of(-9, 2)), config).passed);
  const auto unproven = contribution_gate(judged_by(worth_of(0.19, 1.9)), config);
  CHECK_FALSE(unproven.passed);
  CHECK(unproven.reason ==
        "epochs_in_probation >= 1 (measured 9); worth_epochs >= 3 (measured 3); worth_loss_lower > 0 failed (measured "
        "-0.006) or worth_points_lower > 0 failed (measured -0.06)");
  auto early = worth_of(9, 9);
  early.epochs = 2;
  CHECK_FALSE(contribution_gate(judged_by(early), config).passed);
  CHECK_FALSE(contribution_gate(judged_by({}), config).passed);
  auto strict = config;
  strict.min_worth_loss = 0.1;
  CHECK_FALSE(contribution_gate(judged_by(worth_of(0.2, -9)), strict).passed);
}

TEST_CASE("without evidence epochs and gradient ratio suffice") {
  const auto config = gates_with(config::Evidence::kNone);
  CHECK(learning_gate(judged_by({}), config).passed);
  CHECK(shadow_gate(judged_by({}), config).passed);
  CHECK(contribution_gate(judged_by({}), config).passed);
  auto evidence = judged_by({});
  evidence.gradient_ratio.reset();
  CHECK_FALSE(learning_gate(evidence, config).passed);
  evidence.stage_epochs = 0;
  CHECK_FALSE(shadow_gate(evidence, config).passed);
  CHECK_FALSE(contribution_gate(evidence, config).passed);
}

TEST_CASE("the gradient ratio corrects for size and refuses what cannot be judged") {
  CHECK(*gradient_ratio({1, 2, 100, 400}) == Catch::Approx(1.0));
  CHECK_FALSE(gradient_ratio({1, 0, 100, 400}));
  CHECK_FALSE(gradient_ratio({1, kNaN, 100, 400}));
  CHECK_FALSE(gradient_ratio({kNaN, 1, 100, 400}));
  CHECK_FALSE(gradient_ratio({1, 1, 0, 400}));
  CHECK(smoothed_ratio({}, 0.4) == 0.4);
  CHECK(smoothed_ratio(0.4, 1.4) == Catch::Approx(0.5));
}

}  // namespace
}  // namespace esper::kasmina::gates_test
