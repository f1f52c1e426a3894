#include "tolaria/growth/policy_schedule.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::policy_schedule_test {

using tamiyo::Answer;
using tolaria::is_question_due;
using tolaria::no_decision_event;
using tolaria::policy_figures;

namespace {

constexpr std::int64_t kBatches = 6;

struct Epoch {
  step::StepMetrics steps;
  tolaria::Measurements measured;
  tolaria::TrainedEpoch trained;
  tolaria::EpochResults results(bool is_last = false) const { return {steps, measured, trained, is_last}; }
};

// The epochs of a run of `last` epochs after which the policy is asked.
std::vector<std::uint32_t> asked_after(base::Length every, int accumulation, std::uint32_t last) {
  config::RunConfig config;
  config.policy.every = every;
  config.step.accumulation = accumulation;
  const tolaria::RunFacts facts{
      .config = config, .run_id = "run", .training_hash = "hash", .device = torch::kCPU, .batches_per_epoch = kBatches};
  const Epoch epoch;
  std::vector<std::uint32_t> epochs;
  for (std::uint32_t number = 1; number <= last; ++number) {
    tolaria::RunProgress progress;
    progress.epoch = number;
    progress.step = facts.steps_per_epoch() * number;
    if (is_question_due(facts, progress, epoch.results(number == last))) epochs.push_back(number);
  }
  return epochs;
}

step::SeedMetrics seed_with(double violations, double conflicts, double comparisons) {
  step::SeedMetrics seed;
  seed.isolation_violations = violations;
  seed.conflicts = conflicts;
  seed.comparisons = comparisons;
  return seed;
}

}  // namespace

TEST_CASE("a policy is asked after the epochs in which its length ends, and after the last one") {
  using Unit = base::Length::Unit;
  using Epochs = std::vector<std::uint32_t>;
  CHECK(asked_after({1, Unit::kEpochs}, 1, 4) == Epochs{1, 2, 3, 4});
  CHECK(asked_after({3, Unit::kEpochs}, 1, 7) == Epochs{3, 6, 7});
  CHECK(asked_after({6, Unit::kSteps}, 1, 3) == Epochs{1, 2, 3});
  CHECK(asked_after({10, Unit::kSteps}, 1, 8) == Epochs{2, 4, 5, 7, 8});  // steps 10, 20, 30 and 40
  CHECK(asked_after({4, Unit::kSteps}, 4, 7) == Epochs{2, 4, 6, 7});      // an epoch is two steps
  CHECK(asked_after({1000, Unit::kSteps}, 1, 3) == Epochs{3});
}

TEST_CASE("somebody is asked where the run grows and has a policy") {
  config::RunConfig config;
  config.policy.kind = config::PolicyKind::kHeuristic;
  CHECK(tolaria::asks_policy(config));
  config.growth.enabled = false;
  CHECK_FALSE(tolaria::asks_policy(config));
  config.growth.enabled = true;
  config.policy.kind = config::PolicyKind::kNone;
  CHECK_FALSE(tolaria::asks_policy(config));
}

TEST_CASE("violations and conflicts are those of all seeds; without a comparison there is no conflict to judge") {
  const config::RunConfig config;
  Epoch epoch;
  epoch.steps.seeds = {{"seed-0001", seed_with(1, 0, 0)}, {"seed-0002", seed_with(2, 0, 0)}};
  auto figures = policy_figures(config, epoch.results(), {});
  CHECK(figures.isolation_violations == 3);
  CHECK_FALSE(figures.gradient_conflict);

  epoch.steps.seeds = {{"seed-0001", seed_with(0, 1, 2)}, {"seed-0002", seed_with(0, 0, 6)}};
  figures = policy_figures(config, epoch.results(), {});
  CHECK(figures.isolation_violations == 0);
  CHECK(figures.gradient_conflict == 0.125);
}

TEST_CASE("times of this machine reach the policy's service only where the run file asks for it") {
  config::RunConfig config;
  Epoch epoch;
  epoch.steps.steps = 4;
  epoch.trained.train_ms = 100;
  const tolaria::GrowthTimes last{.hook_ms = 50, .waiting_ms = 30};
  auto figures = policy_figures(config, epoch.results(), last);
  CHECK_FALSE(figures.hook_ms);
  CHECK_FALSE(figures.apply_ms);
  CHECK_FALSE(figures.step_ms);

  config.policy.risk.judge_times = true;
  figures = policy_figures(config, epoch.results(), last);
  CHECK(figures.hook_ms == 50);
  CHECK(figures.apply_ms == 20);
  CHECK(figures.step_ms == 25);
  epoch.steps.steps = 0;
  CHECK_FALSE(policy_figures(config, epoch.results(), last).step_ms);
}

TEST_CASE("a missing decision is reported as what it is: an error, or a deadline that passed") {
  constexpr std::chrono::milliseconds kDeadline(1500);
  using Kind = Answer::Kind;
  CHECK_FALSE(no_decision_event({Kind::kDecided, {}, "", 3}, kDeadline));
  CHECK_FALSE(no_decision_event({Kind::kBreakerOpen, {}, "it failed too often", 0}, kDeadline));  // the service does

  const auto failed = no_decision_event({Kind::kFailed, {}, "no idea", 3}, kDeadline);
  REQUIRE(failed);
  CHECK(failed->description == "tolaria.tamiyo_error");
  CHECK(failed->level == leyline::Level::kWarning);
  CHECK(failed->attributes.at("error") == "no idea");

  for (const Kind kind : {Kind::kLate, Kind::kBusy}) {
    const auto late = no_decision_event({kind, {}, "why", 1600}, kDeadline);
    REQUIRE(late);
    CHECK(late->description == "tolaria.tamiyo_timeout");
    CHECK(late->level == leyline::Level::kWarning);
    CHECK(late->attributes.at("error") == "why");
    CHECK(std::stod(late->attributes.at("latency_ms")) == 1600);
    CHECK(std::stod(late->attributes.at("deadline_ms")) == 1500);
  }
}

}  // namespace esper::test::policy_schedule_test
