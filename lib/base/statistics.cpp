#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <random>

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
