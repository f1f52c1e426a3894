#include "kasmina/gates.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <limits>

namespace esper::kasmina {
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
}  // namespace esper::kasmina
