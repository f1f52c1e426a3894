#pragma once
// Statistics of distributions and paired measurements. Pure functions; the same input gives the same answer everywhere.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace esper::base {

// Between the two nearest ranks, as NumPy's default does. p in 0..100. values: not empty.
double percentile(std::vector<double> values, double p);
double median(std::vector<double> values);

struct Interval {
  double low = 0, high = 0;
  bool contains(double value) const { return low <= value && value <= high; }
};

// t with P(T <= t) = p for Student's distribution with `degrees` of freedom, at least 1 and not necessarily whole, as
// scipy.stats.t.ppf(p, degrees). p: 0.5 to below 1. Within 1e-6, relative.
double student_t_quantile(double p, double degrees);

// The standard error of an estimate, and the degrees of freedom that it was estimated with: for a mean, one fewer than
// the values.
struct StandardError {
  double value = 0;
  double degrees = 1;
};
// Of the mean of independent values; empty below two values.
std::optional<StandardError> error_of_mean(std::span<const double> values);
// Of two independent sources of error. Degrees of freedom: Welch 1947, Satterthwaite 1946.
StandardError joined_error(const StandardError& a, const StandardError& b);
// The estimate plus and minus this is its 95 % interval, by Student's t.
double half_width_95(const StandardError& error);

// The largest share that something which `samples` independent samples never showed may have, with 95 % confidence:
// 3 / samples (Hanley and Lippman-Hand 1983, "If nothing goes wrong, is everything all right?"). samples: at least 1.
double rule_of_three(std::size_t samples);
// The half width of the interval of a mean of `samples` values, none of which is farther from 0 than `largest`, and at
// least what the rule of three leaves: that no value, or few, differs from 0 does not show that none would.
double at_least_rule_of_three(double half_width, std::size_t samples, double largest = 1);

// Two-sided 95 % quantile of the normal distribution, where the degrees of freedom of a standard error were not
// recorded.
inline constexpr double kNormal95 = 1.960;

// How two contenders that took turns compare. Pair i is (numerators[i], denominators[i]).
struct RatioEstimate {
  double median = 0;  // of the paired quotients
  Interval interval;  // holds the true median with a confidence of 95 %
  double sign_p = 1;  // two-sided sign test of "the quotient is 1": chance to be at least this lopsided
  std::size_t pairs = 0;
};

// Median of the quotients with a percentile bootstrap interval (Efron 1979; 2000 resamples of the pairs, drawn from
// `seed`). Both spans have the same length, at least 1, and hold positive numbers.
RatioEstimate paired_ratio(std::span<const double> numerators, std::span<const double> denominators,
                           std::uint64_t seed = 1);

// Two-sided p of `above` out of `above + below` fair coins. Ties are left out by the caller.
double sign_test(std::size_t above, std::size_t below);

// How far from 1 two measurements of the same thing may seem to be: the larger distance of the interval's ends.
double noise_floor(const RatioEstimate& same_against_same);

enum class Verdict { kPass, kFail, kTooNoisy };

// The rule for times on shared machines: fails only where the interval excludes 1 and the median exceeds 1 + budget;
// does not judge where the noise floor is above half the budget. budget: 0.05 allows five percent.
Verdict judge(const RatioEstimate& ratio, double floor, double budget);

}  // namespace esper::base
