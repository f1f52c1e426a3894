#include "simic/imitation/imitate.h"

#include <catch2/catch_test_macros.hpp>

#include "simic/imitation/agreement.h"
#include "tamiyo/network/initial_weights.h"
#include "tamiyo/network/policy_file.h"
#include "unit/simic_imitation/taught_run.h"

namespace esper::test::imitate_test {

using namespace esper;
using namespace esper::simic;

namespace {

ImitationSettings quick(int epochs) {
  ImitationSettings settings;
  settings.epochs = epochs;
  settings.seed = 3;
  settings.learning_rate = 3e-3;
  settings.batch = 8;
  return settings;
}

void ignore(const ImitationProgress&) {}

}  // namespace

TEST_CASE("a teacher that a feature gives away is imitated") {
  const auto lessons = simple_lessons(16);
  const auto imitated = imitate(pointers_to(lessons), {}, quick(40), ignore);
  CHECK(imitated.epoch == 40);
  const auto figures = agreement(imitated.weights, pointers_to(lessons));
  CHECK(figures.at("balanced_accuracy") == 1);
  CHECK(figures.at("slot_agreement") == 1);
  CHECK(figures.at("blueprint_agreement") == 1);
  CHECK(figures.at("culls") == 0);
}

TEST_CASE("what is not learned keeps the bits that were drawn, so that a file need not hold it") {
  const auto lessons = simple_lessons(8);
  const auto imitated = imitate(pointers_to(lessons), {}, quick(2), ignore);
  const auto drawn = tamiyo::initial_weights(3);
  REQUIRE(imitated.weights.size() == drawn.size());
  std::int64_t learned = 0;
  for (const auto& [name, tensor] : imitated.weights) {
    if (is_learned(name)) {
      learned += tensor.numel();
      continue;
    }
    INFO(name);
    CHECK(tamiyo::fingerprint({{name, tensor}}) == tamiyo::fingerprint({{name, drawn.at(name)}}));
  }
  CHECK(learned < 200'000);
  tamiyo::PolicyFile policy{imitated.weights};
  policy.drawn_from = 3;
  std::size_t bytes = 0;
  tamiyo::write_policy(policy, [&bytes](storage::Bytes part) { bytes += part.size(); });
  CHECK(bytes < 1'000'000);
}

TEST_CASE("the same lessons and settings give the same weights, other seeds others") {
  const auto lessons = simple_lessons(12);
  const auto weights_of = [&](std::uint64_t seed) {
    auto settings = quick(2);
    settings.seed = seed;
    return tamiyo::fingerprint(imitate(pointers_to(lessons), {}, settings, ignore).weights);
  };
  CHECK(weights_of(3) == weights_of(3));
  CHECK(weights_of(3) != weights_of(4));
}

TEST_CASE("of all epochs the one with the least held-out loss is taken") {
  const auto lessons = simple_lessons(8);
  auto other = simple_lessons(8);
  for (Lesson& lesson : other) lesson.target.value = 0.2F;
  std::vector<double> losses;
  const auto imitated = imitate(pointers_to(lessons), pointers_to(other), quick(5), [&](const auto& progress) {
    CHECK(progress.epoch == static_cast<int>(losses.size()) + 1);
    losses.push_back(progress.held_out.at("loss"));
  });
  REQUIRE(losses.size() == 5);
  const auto least = std::ranges::min_element(losses) - losses.begin();
  CHECK(imitated.epoch == least + 1);
  CHECK(agreement(imitated.weights, pointers_to(other)).at("loss") == losses[static_cast<std::size_t>(least)]);
}

}  // namespace esper::test::imitate_test
