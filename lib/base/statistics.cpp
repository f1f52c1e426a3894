#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "base/error.h"

namespace esper::base {
namespace {

constexpr std::size_t kResamples = 2000;
constexpr double kLowTail = 2.5, kHighTail = 97.5;

// Uniform in 0..bound-1, with the same numbers from any standard library.
std::size_t draw(std::mt19937_64& random, std::size_t bound) { return static_cast<std::size_t>(random() % bound); }

Interval bootstrap(const std::vector<double>& quotients, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> medians(kResamples), sample(quotients.size());
  for (double& resampled : medians) {
    for (double& value : sample) value = quotients[draw(random, quotients.size())];
    resampled = median(sample);
  }
  return {percentile(medians, kLowTail), percentile(medians, kHighTail)};
}

// The continued fraction of the incomplete beta function (DLMF 8.17.22), evaluated by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kEnough = 1e-15;
  constexpr int kMostTerms = 100'000;
  const auto not_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), fraction = d;
  const auto extend = [&](double coefficient) {
    d = 1 / not_zero(1 + coefficient * d);
    c = not_zero(1 + coefficient / c);
    fraction *= c * d;
    return std::abs(c * d - 1);
  };
  for (int m = 1; m < kMostTerms; ++m) {
    const double twice = 2.0 * m;
    extend(m * (b - m) * x / ((a + twice - 1) * (a + twice)));
    if (extend(-(a + m) * (a + b + m) * x / ((a + twice) * (a + twice + 1))) < kEnough) break;
  }
  return fraction;
}

// The regularised incomplete beta function I_x(a, b), 0 < x < 1.
double incomplete_beta(double a, double b, double x) {
  if (x > (a + 1) / (a + b + 2)) return 1 - incomplete_beta(b, a, 1 - x);
  const double log_beta = std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
  return std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta) / a * beta_fraction(a, b, x);
}

// P(T > t), t > 0.
double student_t_tail(double t, double degrees) {
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
}

}  // namespace

double percentile(std::vector<double> values, double p) {
  ESPER_CHECK(!values.empty() && p >= 0 && p <= 100, "a percentile needs values, and p in 0..100");
  const double place = p / 100 * static_cast<double>(values.size() - 1);
  const auto lower = static_cast<std::size_t>(place);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(lower);
  std::nth_element(values.begin(), at, values.end());
  if (lower + 1 == values.size()) return *at;
  const double above = *std::min_element(at + 1, values.end());
  return *at + (above - *at) * (place - static_cast<double>(lower));
}

double median(std::vector<double> values) { return percentile(std::move(values), 50); }

double sign_test(std::size_t above, std::size_t below) {
  const auto total = static_cast<double>(above + below);
  if (total == 0) return 1;
  double tail = 0;
  for (std::size_t k = 0; k <= std::min(above, below); ++k) {
    const auto chosen = static_cast<double>(k);
    const double log_ways = std::lgamma(total + 1) - std::lgamma(chosen + 1) - std::lgamma(total - chosen + 1);
    tail += std::exp(log_ways - total * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

double student_t_quantile(double p, double degrees) {
  ESPER_CHECK(p >= 0.5 && p < 1 && degrees >= 1, "a t quantile needs p in 0.5..1 and a degree of freedom");
  // Beyond, the quantile differs from the normal distribution's by less than the rounding of the logarithms.
  constexpr double kMostDegrees = 1e7;
  constexpr int kHalvings = 60;
  const double tail = 1 - p, bounded = std::min(degrees, kMostDegrees);
  double low = 0, high = 1;
  while (student_t_tail(high, bounded) > tail) low = std::exchange(high, 2 * high);
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (student_t_tail(middle, bounded) > tail ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::optional<StandardError> error_of_mean(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double value : values) mean += value / count;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return StandardError{std::sqrt(squares / (count - 1) / count), count - 1};
}

StandardError joined_error(const StandardError& a, const StandardError& b) {
  if (a.value == 0) return b;
  if (b.value == 0) return a;
  const double of_a = a.value * a.value, of_b = b.value * b.value, sum = of_a + of_b;
  return {std::sqrt(sum), sum * sum / (of_a * of_a / a.degrees + of_b * of_b / b.degrees)};
}

double half_width_95(const StandardError& error) {
  constexpr double kUpper = 0.975;
  return student_t_quantile(kUpper, error.degrees) * error.value;
}

double rule_of_three(std::size_t samples) {
  ESPER_CHECK(samples > 0, "a share needs samples");
  return 3.0 / static_cast<double>(samples);
}

double at_least_rule_of_three(double half_width, std::size_t samples, double largest) {
  return std::max(half_width, largest * rule_of_three(samples));
}

RatioEstimate paired_ratio(std::span<const double> numerators, std::span<const double> denominators,
                           std::uint64_t seed) {
  ESPER_CHECK(numerators.size() == denominators.size() && !numerators.empty(), "a ratio needs pairs");
  std::vector<double> quotients(numerators.size());
  std::size_t above = 0, below = 0;
  for (std::size_t i = 0; i < quotients.size(); ++i) {
    ESPER_CHECK(numerators[i] > 0 && denominators[i] > 0, "a ratio needs positive numbers");
    quotients[i] = numerators[i] / denominators[i];
    above += quotients[i] > 1 ? 1 : 0;
    below += quotients[i] < 1 ? 1 : 0;
  }
  return {median(quotients), bootstrap(quotients, seed), sign_test(above, below), quotients.size()};
}

double noise_floor(const RatioEstimate& same_against_same) {
  return std::max(std::abs(same_against_same.interval.low - 1), std::abs(same_against_same.interval.high - 1));
}

Verdict judge(const RatioEstimate& ratio, double floor, double budget) {
  if (floor > budget / 2) return Verdict::kTooNoisy;
  const bool slower = ratio.interval.low > 1 && ratio.median > 1 + budget;
  return slower ? Verdict::kFail : Verdict::kPass;
}

}  // namespace esper::base
