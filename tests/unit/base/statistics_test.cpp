#include "base/statistics.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <cmath>
#include <random>

#include "base/error.h"

namespace esper::test::statistics_test {

using namespace esper::base;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;

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

TEST_CASE("quantiles of Student's distribution are scipy.stats.t.ppf's") {
  struct Known {
    double p, degrees, t;
  };
  for (const auto& [p, degrees, t] :
       {Known{0.975, 1, 12.7062047}, Known{0.975, 1.5, 6.0166631}, Known{0.975, 2, 4.3026527},
        Known{0.975, 2.5, 3.5746548}, Known{0.975, 4, 2.7764451}, Known{0.975, 9, 2.2621572},
        Known{0.975, 10.5, 2.2138403}, Known{0.975, 30, 2.0422725}, Known{0.975, 100, 1.9839715},
        Known{0.975, 1000, 1.9623391}, Known{0.975, 1e6, 1.9599664}, Known{0.975, 1e12, 1.9599640},
        Known{0.95, 3, 2.3533634}, Known{0.995, 5, 4.0321430}}) {
    INFO("p " << p << ", " << degrees << " degrees of freedom");
    CHECK_THAT(student_t_quantile(p, degrees), WithinRel(t, 1e-6));
  }
  CHECK_THAT(student_t_quantile(0.5, 7), WithinAbs(0, 1e-12));
  CHECK_THROWS_AS(student_t_quantile(0.975, 0.5), Error);
  CHECK_THROWS_AS(student_t_quantile(1, 5), Error);
}

TEST_CASE("the error of a mean") {
  const double values[] = {1, 2, 3, 4};
  const auto error = error_of_mean(values);
  REQUIRE(error);
  CHECK_THAT(error->value, WithinAbs(std::sqrt(5.0 / 3 / 4), 1e-12));
  CHECK(error->degrees == 3);
  CHECK_THAT(half_width_95(*error), WithinAbs(3.1824463 * std::sqrt(5.0 / 12), 1e-6));
  CHECK_FALSE(error_of_mean(std::span(values, 1)));
}

TEST_CASE("two sources of error have degrees of freedom between the fewer and the sum") {
  // Welch's t test of 6 against 4 values, worked out by hand: (1 + 4)^2 / (1 / 5 + 16 / 3).
  const auto error = joined_error({1, 5}, {2, 3});
  CHECK_THAT(error.value, WithinAbs(std::sqrt(5.0), 1e-12));
  CHECK_THAT(error.degrees, WithinAbs(25 / (0.2 + 16.0 / 3), 1e-12));
  CHECK_THAT(joined_error({1, 5}, {1, 5}).degrees, WithinAbs(10, 1e-12));
  // What has no error has no say.
  CHECK(joined_error({0, 1}, {2, 3}).degrees == 3);
  CHECK(joined_error({2, 3}, {0, 1}).value == 2);
}

TEST_CASE("what n samples never showed has a share of at most 3 / n") {
  CHECK(rule_of_three(300) == 0.01);
  // The exact bound is 1 - 0.05^(1/n).
  CHECK_THAT(rule_of_three(300), WithinAbs(1 - std::pow(0.05, 1.0 / 300), 1e-4));
}

TEST_CASE("an interval is never narrower than the rule of three's") {
  CHECK(at_least_rule_of_three(0, 300) == 0.01);
  CHECK(at_least_rule_of_three(0.009, 300) == 0.01);
  CHECK(at_least_rule_of_three(0.02, 300) == 0.02);
  CHECK(at_least_rule_of_three(0, 300, 100) == 1);
  CHECK(at_least_rule_of_three(1.5, 300, 100) == 1.5);
}

}  // namespace esper::test::statistics_test
