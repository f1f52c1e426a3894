#include "base/statistics.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <random>

using namespace esper::base;
using Catch::Matchers::WithinAbs;

TEST_CASE("percentiles are those of NumPy's default") {
  const std::vector<double> values = {4, 1, 3, 2};
  CHECK(percentile(values, 0) == 1);
  CHECK(percentile(values, 100) == 4);
  CHECK(percentile(values, 50) == 2.5);
  CHECK_THAT(percentile(values, 95), WithinAbs(3.85, 1e-12));
  CHECK(percentile({7}, 99) == 7);
  CHECK(median({5, 1, 9}) == 5);
}

TEST_CASE("the sign test is that of fair coins") {
  CHECK(sign_test(0, 0) == 1);
  CHECK_THAT(sign_test(5, 0), WithinAbs(0.0625, 1e-12));
  CHECK_THAT(sign_test(0, 5), WithinAbs(0.0625, 1e-12));
  CHECK_THAT(sign_test(8, 2), WithinAbs(0.109375, 1e-12));
  CHECK(sign_test(5, 5) == 1);
}

TEST_CASE("paired ratios forget what both of a pair suffered") {
  const std::vector<double> slow = {2, 20, 200, 4, 40}, fast = {1, 10, 100, 2, 20};
  const auto estimate = paired_ratio(slow, fast);
  CHECK(estimate.median == 2);
  CHECK(estimate.interval.low == 2);
  CHECK(estimate.interval.high == 2);
  CHECK(estimate.pairs == 5);
  CHECK_THAT(estimate.sign_p, WithinAbs(0.0625, 1e-12));
}

TEST_CASE("the interval holds the true ratio and is the same each time") {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(1.0, 0.05);
  std::vector<double> a, b;
  for (int i = 0; i < 31; ++i) a.push_back(1.3 * noise(random)), b.push_back(noise(random));
  const auto first = paired_ratio(a, b), again = paired_ratio(a, b);
  CHECK(first.interval.contains(1.3));
  CHECK_FALSE(first.interval.contains(1.0));
  CHECK(first.interval.low == again.interval.low);
  CHECK(first.interval.high == again.interval.high);
}

TEST_CASE("the verdict needs a clear interval, a broken budget and a quiet machine") {
  const auto estimate = [](double median, double low, double high) {
    return RatioEstimate{median, {low, high}, 0.01, 21};
  };
  CHECK(judge(estimate(1.20, 1.15, 1.25), 0.01, 0.05) == Verdict::kFail);
  CHECK(judge(estimate(1.20, 0.99, 1.40), 0.01, 0.05) == Verdict::kPass);  // may be chance
  CHECK(judge(estimate(1.03, 1.01, 1.04), 0.01, 0.05) == Verdict::kPass);  // within the budget
  CHECK(judge(estimate(0.50, 0.49, 0.51), 0.01, 0.05) == Verdict::kPass);
  CHECK(judge(estimate(1.20, 1.15, 1.25), 0.03, 0.05) == Verdict::kTooNoisy);
}

TEST_CASE("the noise floor is the farther end of the interval") {
  CHECK_THAT(noise_floor({1.0, {0.96, 1.01}, 1, 9}), WithinAbs(0.04, 1e-12));
  CHECK_THAT(noise_floor({1.0, {0.99, 1.03}, 1, 9}), WithinAbs(0.03, 1e-12));
}
