#include "simic/contribution_reward.h"

#include <algorithm>
#include <cmath>

namespace esper::simic {
namespace {

constexpr double kShareWithoutBaseline = 0.5;
constexpr double kDiscountSteepness = 3;
constexpr double kSuspectContribution = 1;
constexpr double kSafeImprovement = 0.1;
constexpr double kSuspectRatio = 5;
constexpr double kRatioScale = 0.1;
constexpr double kWorstPenalty = 0.3;
constexpr double kWorstContribution = 10;

double attribution_of(double c, std::optional<double> progress) {
  if (c < 0) return c;
  if (!progress) return kShareWithoutBaseline * c;
  if (*progress <= 0) return 0;
  return c >= *progress ? std::sqrt(*progress * c) : c;
}

// A contribution far above what came of it is a dependency rather than a gain.
double ratio_penalty(double c, double total_improvement) {
  if (c <= kSuspectContribution) return 0;
  if (total_improvement <= kSafeImprovement) return -kWorstPenalty * std::min(1.0, c / kWorstContribution);
  const double ratio = c / total_improvement;
  if (ratio <= kSuspectRatio) return 0;
  return -std::min(kWorstPenalty, kRatioScale * (ratio - kSuspectRatio) / kSuspectRatio);
}

std::optional<double> gain(double accuracy, std::optional<double> since) {
  return since ? std::optional(accuracy - *since) : std::nullopt;
}

}  // namespace

ContributionReward contribution_reward(const ContributionFacts& facts) {
  ContributionReward result;
  const double c = facts.contribution_points;
  result.attribution = attribution_of(c, gain(facts.accuracy_points, facts.accuracy_at_germination_points));
  const auto total = gain(facts.accuracy_points, facts.accuracy_after_first_epoch_points);
  if (!total || c < 0) return result;
  if (*total < 0) result.discount = 1 / (1 + std::exp(-kDiscountSteepness * *total));
  result.ratio_penalty = ratio_penalty(c, *total);
  return result;
}

}  // namespace esper::simic
