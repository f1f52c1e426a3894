#include "tamiyo/stage_rules.h"

#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <vector>

namespace esper::tamiyo::stage_rules_test {
namespace {

using leyline::SeedFigures;
using leyline::SeedOperation;
using leyline::SeedState;
using leyline::Stage;

SeedState seed_in(Stage stage, std::uint32_t epochs, const SeedFigures& figures) {
  SeedState seed;
  seed.stage = stage;
  seed.stage_epochs = epochs;
  seed.figures = figures;
  return seed;
}

TEST_CASE("training ends only with epochs, improvement and gradient, each measured") {
  const Rules rules;
  const SeedFigures good{.gradient_ratio = 0.1, .improvement_points = 0.5};
  CHECK(next_step(seed_in(Stage::kTraining, 3, good), rules).operation == SeedOperation::kStartGrafting);
  CHECK_FALSE(next_step(seed_in(Stage::kTraining, 2, good), rules).operation);
  for (const auto figure : {&SeedFigures::improvement_points, &SeedFigures::gradient_ratio}) {
    auto figures = good;
    *(figures.*figure) -= 0.01;
    CHECK_FALSE(next_step(seed_in(Stage::kTraining, 3, figures), rules).operation);
    for (const auto unmeasured : {std::optional(std::numeric_limits<double>::quiet_NaN()), std::optional<double>()}) {
      figures.*figure = unmeasured;
      const auto step = next_step(seed_in(Stage::kTraining, 3, figures), rules);
      CHECK_FALSE(step.operation);
      CHECK(step.reason.find("not measured") != std::string::npos);
    }
  }
}

TEST_CASE("a place for good takes the larger of the gate's and the policy's worth") {
  Rules rules;
  const auto coalition_values = [&](double points) {
    return next_step(seed_in(Stage::kProbationary, 1, {.contribution_points = points}), rules).operation;
  };
  CHECK(coalition_values(1.0) == SeedOperation::kFossilize);
  CHECK_FALSE(coalition_values(0.9));
  rules.heuristic.min_fossilize_points = 1.5;
  CHECK_FALSE(coalition_values(1.4));
}

TEST_CASE("a drop prunes what is heard, not what trains in silence") {
  const Rules rules;
  CHECK(prune_reason(seed_in(Stage::kTraining, 1, {.improvement_points = -9}), 0, rules).empty());
  const SeedFigures blended{.alpha = 0.5, .improvement_points = -9};
  CHECK_FALSE(prune_reason(seed_in(Stage::kTraining, 1, blended), 0, rules).empty());
  CHECK_FALSE(prune_reason(seed_in(Stage::kBlending, 1, {.improvement_points = -2}), 0, rules).empty());
  CHECK(prune_reason(seed_in(Stage::kBlending, 1, {.improvement_points = -1.9}), 0, rules).empty());
  // On probation the measured contribution speaks, not the run's ups and downs.
  const SeedFigures host_fell{.improvement_points = -3, .contribution_points = 2};
  CHECK(prune_reason(seed_in(Stage::kProbationary, 1, host_fell), 0, rules).empty());
}

std::vector<leyline::ValidationChange> changes_of(double loss, double error, double swing, double points) {
  return {{.after = 1,
           .before = 5,
           .loss = loss,
           .points = points,
           .loss_error = base::StandardError{error, 1000},
           .points_error = base::StandardError{1, 1000},
           .loss_swing = base::StandardError{swing, 1000}}};
}

TEST_CASE("a drop prunes only if it is shown, and exceeds what epochs differ by") {
  const Rules rules;
  const auto blending = seed_in(Stage::kBlending, 1, {.improvement_points = -9});
  CHECK(prune_reason(blending, 0, rules, changes_of(0.1, 0.1, 0.01, -9)).empty());
  CHECK(prune_reason(blending, 0, rules, changes_of(0.1, 0.01, 0.1, -9)).empty());
  CHECK(prune_reason(blending, 0, rules, changes_of(0.1, 0.01, 0.01, -1.9)).empty());  // of the window, not the epoch
  CHECK(prune_reason(blending, 0, rules, changes_of(0.1, 0.01, 0.01, -3)) == "it costs 3 accuracy points (allowed 2)");
  const auto on_probation = [](double half_width) {
    return seed_in(Stage::kProbationary, 1, {.contribution_points = -3, .contribution_half_width_points = half_width});
  };
  CHECK(prune_reason(on_probation(3.1), 0, rules).empty());
  CHECK_FALSE(prune_reason(on_probation(2.9), 0, rules).empty());
}

TEST_CASE("a better accuracy is one that exceeds the noise, and a heard seed's is a loss that is shown to be lower") {
  const auto noise = changes_of(-1, 0.1, 0, 0);  // 1.96 points
  const auto silent = seed_in(Stage::kTraining, 2, {.improvement_points = 3});
  CHECK(has_improved(silent, std::nullopt, 1, noise));
  CHECK(has_improved(silent, 1.0, 1, noise));
  CHECK_FALSE(has_improved(silent, 1.1, 1, noise));
  CHECK(has_improved(silent, 2.9, 1, {}));
  const auto heard = seed_in(Stage::kTraining, 2, {.alpha = 0.5, .improvement_points = 3});
  CHECK(has_improved(heard, 50, 1, noise));
  CHECK_FALSE(has_improved(heard, 0, 1, changes_of(-0.1, 0.1, 0, 0)));
  CHECK(has_improved(heard, 2.9, 1, {}));
}

SeedFigures worth_figures(double loss, std::uint32_t epochs = 3) {
  SeedFigures figures{.gradient_ratio = 1, .improvement_points = -50, .contribution_points = -50};
  figures.worth = {
      .points = 0, .points_half_width = 1.96, .loss = loss, .loss_half_width = 0.196, .epochs = epochs, .horizon = 3};
  return figures;
}

TEST_CASE("with a control the worth decides, and only once all of it was measured") {
  Rules rules;
  rules.gates.evidence = config::Evidence::kControl;
  // Neither a drop when switched off nor a noisy epoch prunes.
  CHECK(prune_reason(seed_in(Stage::kProbationary, 9, worth_figures(-9, 2)), 99, rules).empty());
  // What the whole horizon did not show no later epoch will: gate G5 is out of reach, whatever the stage.
  for (const auto stage : {Stage::kTraining, Stage::kBlending, Stage::kProbationary}) {
    CHECK(prune_reason(seed_in(stage, 1, worth_figures(0.2)), 0, rules).empty());
    const auto unshown = prune_reason(seed_in(stage, 1, worth_figures(0.19)), 0, rules);
    CHECK(unshown.find("lower end of worth in loss > 0 (measured -0.006)") != std::string::npos);
  }
  CHECK_FALSE(prune_reason(seed_in(Stage::kProbationary, 9, worth_figures(9)), 99, rules).empty());  // stale

  const auto fossilises = [&](const SeedFigures& figures) {
    return next_step(seed_in(Stage::kProbationary, 9, figures), rules).operation == SeedOperation::kFossilize;
  };
  CHECK(fossilises(worth_figures(0.2)));
  CHECK_FALSE(fossilises(worth_figures(0.19)));
  CHECK_FALSE(fossilises(worth_figures(9, 2)));
  CHECK_FALSE(fossilises({}));
  CHECK(next_step(seed_in(Stage::kTraining, 3, worth_figures(-0.19)), rules).operation ==
        SeedOperation::kStartGrafting);
  CHECK_FALSE(next_step(seed_in(Stage::kTraining, 3, worth_figures(-0.2)), rules).operation);
}

TEST_CASE("a seed that no gate ahead will let through is pruned, though the last one would") {
  Rules rules;
  rules.gates.evidence = config::Evidence::kControl;
  // More predictions are right, and the loss is shown to be higher: G2 never passes.
  auto figures = worth_figures(-9);
  figures.worth.points = 5;
  figures.worth.points_half_width = 1;
  const auto reason = prune_reason(seed_in(Stage::kTraining, 1, figures), 0, rules);
  CHECK(reason.find("missing: upper end of worth in loss >= 0") != std::string::npos);
  for (const auto stage : {Stage::kBlending, Stage::kShadowing, Stage::kProbationary}) {
    CHECK(prune_reason(seed_in(stage, 1, figures), 0, rules).empty());
  }
  // Gate G5 asks for less than G4.
  figures.worth.points = -5;
  rules.gates.min_worth_points = -10;
  CHECK_FALSE(prune_reason(seed_in(Stage::kShadowing, 1, figures), 0, rules).empty());
  CHECK(prune_reason(seed_in(Stage::kProbationary, 1, figures), 0, rules).empty());
}

TEST_CASE("a seed whose worth can no longer be shown, or never could, is pruned") {
  Rules rules;
  rules.gates.evidence = config::Evidence::kControl;
  auto figures = worth_figures(-9, 2);
  figures.worth.confounded = true;
  CHECK(prune_reason(seed_in(Stage::kTraining, 1, figures), 0, rules).find("2 of 3 epochs, confounded") !=
        std::string::npos);
  CHECK(prune_reason(seed_in(Stage::kTraining, 1, {}), 0, rules).find("it has no control") == 0);
}

TEST_CASE("without evidence a seed moves on by its epochs, and no drop prunes it") {
  Rules rules;
  rules.gates.evidence = config::Evidence::kNone;
  const SeedFigures poor{.gradient_ratio = 1, .improvement_points = -50, .contribution_points = -50};
  CHECK(next_step(seed_in(Stage::kTraining, 3, poor), rules).operation == SeedOperation::kStartGrafting);
  CHECK(next_step(seed_in(Stage::kShadowing, 1, poor), rules).operation == SeedOperation::kEvaluate);
  CHECK(next_step(seed_in(Stage::kProbationary, 1, poor), rules).operation == SeedOperation::kFossilize);
  CHECK(prune_reason(seed_in(Stage::kProbationary, 1, poor), 0, rules).empty());
}

TEST_CASE("a seed is stale only after the epochs that its gate wants, and never while it blends") {
  Rules rules;
  CHECK_FALSE(prune_reason(seed_in(Stage::kTraining, 5, {}), 5, rules).empty());
  CHECK(prune_reason(seed_in(Stage::kTraining, 5, {}), 4, rules).empty());
  CHECK(prune_reason(seed_in(Stage::kBlending, 50, {}), 50, rules).empty());
  rules.gates.min_training_epochs = 10;
  CHECK(prune_reason(seed_in(Stage::kTraining, 6, {}), 6, rules).empty());
  CHECK_FALSE(prune_reason(seed_in(Stage::kTraining, 10, {}), 10, rules).empty());
}

}  // namespace
}  // namespace esper::tamiyo::stage_rules_test
