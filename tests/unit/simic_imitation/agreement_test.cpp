#include "simic/imitation/agreement.h"

#include <ATen/Functions.h>

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include "simic/imitation/imitation_loss.h"
#include "tamiyo/network/initial_weights.h"
#include "tamiyo/network/unfolded_network.h"
#include "unit/simic_imitation/taught_run.h"

namespace esper::test::agreement_test {

using namespace esper;
using namespace esper::simic;
using Catch::Approx;

TEST_CASE("a fresh network waits: it is right nearly always, and of no use") {
  const auto lessons = simple_lessons(8);  // the first and the fifth germinate
  const auto figures = agreement(tamiyo::initial_weights(1), pointers_to(lessons));
  CHECK(figures.at("decisions") == 8);
  CHECK(figures.at("germinations") == 2);
  CHECK(figures.at("culls") == 0);
  CHECK(figures.at("accuracy") == Approx(0.75));
  CHECK(figures.at("baseline_accuracy") == Approx(0.75));
  CHECK(figures.at("balanced_accuracy") == Approx(0.5));
  CHECK(figures.at("germinations_met") == 0);
  CHECK(figures.at("waits_met") == 1);
  CHECK(figures.at("slot_baseline") == Approx(0.5));
  CHECK(figures.at("blueprint_baseline") == 1);
  CHECK(figures.at("first_epochs_apart") == 7);  // never is as late as the last decision
  CHECK(figures.at("loss") > 0);
}

TEST_CASE("a network that never germinates is as late as the last decision, at which nothing could germinate") {
  auto lessons = simple_lessons(8);
  for (std::size_t i = 1; i < lessons.size(); ++i) {
    lessons[i].target = {};
    lessons[i].target.possible = {tamiyo::Action::kWait, tamiyo::Action::kCull};
  }
  const auto figures = agreement(tamiyo::initial_weights(1), pointers_to(lessons));
  CHECK(figures.at("decisions") == 1);
  CHECK(figures.at("germinations_met") == 0);
  CHECK(figures.at("first_epochs_apart") == 7);
}

TEST_CASE("a network that always germinates meets all germinations and no wait") {
  auto weights = tamiyo::initial_weights(1);
  weights["policy_logits.bias"][1] = 5;
  const auto lessons = simple_lessons(8);
  const auto figures = agreement(weights, pointers_to(lessons));
  CHECK(figures.at("germinations_met") == 1);
  CHECK(figures.at("waits_met") == 0);
  CHECK(figures.at("accuracy") == Approx(0.25));
  CHECK(figures.at("first_epochs_apart") == 0);
}

TEST_CASE("without germinations there is nothing to agree on but to wait") {
  const std::vector<Lesson> lessons = {simple_lesson(1), simple_lesson(2)};
  const auto figures = agreement(tamiyo::initial_weights(1), pointers_to(lessons));
  CHECK(figures.at("waits_met") == 1);
  CHECK(!figures.contains("balanced_accuracy"));
  CHECK(!figures.contains("slot_agreement"));
}

TEST_CASE("the loss is that over all decisions, though they are run in batches") {
  auto lessons = simple_lessons(4);  // the first germinates
  for (int i = 0; i < 300; ++i) lessons.push_back(simple_lesson(1));
  lessons.back().target.risk.reset();
  const auto all = pointers_to(lessons);
  const auto weights = tamiyo::initial_weights(1);
  const auto batch = join_lessons(all);
  const auto heads = tamiyo::run_side_by_side(weights, batch.graphs);
  const auto loss = imitation_loss(heads, batch, balanced_weights(all)).item<double>();
  CHECK(agreement(weights, all).at("loss") == Approx(loss).epsilon(1e-4));
}

TEST_CASE("of no decisions there are no shares") {
  const auto figures = agreement(tamiyo::initial_weights(1), {});
  CHECK(figures.at("decisions") == 0);
  CHECK(!figures.contains("accuracy"));
}

}  // namespace esper::test::agreement_test
