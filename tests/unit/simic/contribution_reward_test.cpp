#include "simic/contribution_reward.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

namespace esper::test::contribution_reward_test {

using namespace esper::simic;
using Catch::Approx;

namespace {

// A network at 70 % after one that was at 70 - progress when the seed came, and at 70 - improvement an epoch later.
ContributionFacts facts(double contribution, double progress, double improvement) {
  return {contribution, 70, 70 - progress, 70 - improvement};
}

}  // namespace

TEST_CASE("a contribution below the progress counts whole, one above it as their geometric mean") {
  CHECK(contribution_reward(facts(2, 8, 6)).reward() == Approx(2));
  CHECK(contribution_reward(facts(8, 8, 6)).reward() == Approx(8));
  CHECK(contribution_reward(facts(9, 4, 4)).reward() == Approx(6));  // sqrt(4 * 9)
  CHECK(contribution_reward(facts(0, 4, 4)).reward() == 0);
}

TEST_CASE("a seed that harms pays for all of it, whatever the progress, and is not let off for losing accuracy") {
  CHECK(contribution_reward(facts(-3, 8, 6)).reward() == Approx(-3));
  CHECK(contribution_reward(facts(-3, -8, -6)).reward() == Approx(-3));
  CHECK(contribution_reward({-3, 70, {}, {}}).reward() == Approx(-3));
}

TEST_CASE("without progress there is nothing to share out; without a baseline half of it counts") {
  CHECK(contribution_reward(facts(0.5, 0, 1)).reward() == 0);
  CHECK(contribution_reward(facts(0.5, -2, 1)).reward() == 0);
  CHECK(contribution_reward({0.8, 70, {}, 69.0}).reward() == Approx(0.4));
  CHECK(contribution_reward({0.8, 70, {}, {}}).reward() == Approx(0.4));
}

TEST_CASE("accuracy lost since the seed's first epoch discounts what it earned") {
  const auto earned = contribution_reward(facts(0.9, 2, -0.5));
  CHECK(earned.attribution == Approx(0.9));
  CHECK(earned.discount == Approx(0.18242552));  // 1 / (1 + e^1.5)
  CHECK(earned.ratio_penalty == 0);              // not above one point
  CHECK(earned.reward() == Approx(0.16418297));
  CHECK(contribution_reward(facts(0.9, 2, 0)).discount == 1);
  CHECK(contribution_reward(facts(0.9, 2, -1e6)).reward() == Approx(0).margin(1e-12));
}

TEST_CASE("a contribution far above the improvement is fined") {
  CHECK(contribution_reward(facts(5, 8, 1)).ratio_penalty == 0);                  // a ratio of exactly 5
  CHECK(contribution_reward(facts(6, 8, 1)).ratio_penalty == Approx(-0.02));      // 0.1 (6 - 5) / 5
  CHECK(contribution_reward(facts(10, 20, 1)).ratio_penalty == Approx(-0.1));     // 0.1 (10 - 5) / 5
  CHECK(contribution_reward(facts(40, 50, 1)).ratio_penalty == Approx(-0.3));     // 0.7, but never more than 0.3
  CHECK(contribution_reward(facts(5, 8, 0.1)).ratio_penalty == Approx(-0.15));    // 0.3 * 5 / 10
  CHECK(contribution_reward(facts(20, 30, 0.05)).ratio_penalty == Approx(-0.3));  // never more
  CHECK(contribution_reward(facts(1, 8, 0.01)).ratio_penalty == 0);               // of one point nobody is suspected
  CHECK(contribution_reward(facts(6, 8, 1)).reward() == Approx(5.98));
}

TEST_CASE("discount and fine add up; what is not known brings neither") {
  const auto earned = contribution_reward(facts(4, 9, -0.2));
  CHECK(earned.discount == Approx(0.35434369));  // 1 / (1 + e^0.6)
  CHECK(earned.ratio_penalty == Approx(-0.12));
  CHECK(earned.reward() == Approx(4 * 0.35434369 - 0.12));
  const auto unknown = contribution_reward({4, 70, 61.0, {}});
  CHECK(unknown.discount == 1);
  CHECK(unknown.reward() == Approx(4));
}

}  // namespace esper::test::contribution_reward_test
