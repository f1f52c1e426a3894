#include "simic/imitation/imitation_loss.h"

#include <ATen/Functions.h>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "unit/simic_imitation/taught_run.h"

namespace esper::test::imitation_loss_test {

using namespace esper;
using namespace esper::simic;
using Catch::Approx;
using tamiyo::Action;

namespace {

// Zeros for all lessons: every choice is as likely as the others.
tamiyo::HeadTensors undecided(const LessonBatch& batch) {
  const auto rows = static_cast<std::int64_t>(batch.lessons.size());
  tamiyo::HeadTensors heads;
  heads.policy_logits = at::zeros({rows, tamiyo::kPolicyActions});
  heads.policy_params = at::zeros({rows, tamiyo::kPolicyParams});
  heads.blending_logits = at::zeros({rows, tamiyo::kBlendingMethods});
  heads.schedule = at::zeros({rows, tamiyo::kScheduleParams});
  heads.risk_logits = at::zeros({rows, tamiyo::kRiskLevels});
  heads.value = at::zeros({rows, 1});
  heads.breaker_logits = at::zeros({rows, tamiyo::kBreakerStates});
  heads.seed_scores = at::zeros({2 * rows});
  heads.blueprint_scores = at::zeros({2 * rows});
  return heads;
}

}  // namespace

TEST_CASE("rare actions weigh as much as frequent ones in all, and the mean weight is 1") {
  const auto lessons = simple_lessons(8);  // two germinate
  const auto weights = balanced_weights(pointers_to(lessons));
  CHECK(weights[static_cast<std::size_t>(Action::kGerminate)] == Approx(2));
  CHECK(weights[static_cast<std::size_t>(Action::kWait)] == Approx(8.0 / 12));
  CHECK(2 * weights[1] + 6 * weights[0] == Approx(8));
}

TEST_CASE("decisions at which nothing could be germinated change no weight") {
  auto lessons = simple_lessons(8);
  for (std::size_t i = 0; i < 20; ++i) {
    lessons.push_back(simple_lesson(1));
    lessons.back().target.possible = {Action::kWait};
  }
  CHECK(balanced_weights(pointers_to(lessons))[1] == Approx(2));
}

TEST_CASE("the loss of an undecided network is that of drawing") {
  const std::vector<Lesson> lessons = {simple_lesson(0), simple_lesson(1)};
  const auto batch = join_lessons(pointers_to(lessons));
  ActionWeights weights;
  weights.fill(1);
  const double action = std::log(3), germination = 2 * std::log(2) + std::log(3), hindsight = std::log(5) + 0.01;
  CHECK(imitation_loss(undecided(batch), batch, weights).item<double>() ==
        Approx(action + germination + 0.1 * hindsight));
}

TEST_CASE("only what is possible is compared") {
  std::vector<Lesson> lessons = {simple_lesson(1)};
  lessons[0].target.possible = {Action::kWait};
  const auto batch = join_lessons(pointers_to(lessons));
  auto heads = undecided(batch);
  heads.policy_logits[0][3] = 50;
  ActionWeights weights;
  weights.fill(1);
  CHECK(imitation_loss(heads, batch, weights).item<double>() == Approx(0.1 * (std::log(5) + 0.01)));
}

TEST_CASE("a lesson's rows are those of its own nodes") {
  const auto lessons = simple_lessons(3);
  const auto batch = join_lessons(pointers_to(lessons));
  const auto rows = rows_in(batch, 2, tamiyo::NodeType::kSeed, {0, 1});
  CHECK(rows[0].item<std::int64_t>() == 4);
  CHECK(rows[1].item<std::int64_t>() == 5);
}

}  // namespace esper::test::imitation_loss_test
