#pragma once
// Running means and variances, by which features of different units become comparable. Part of the policy's state:
// plain data that its checkpoint holds. Any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/expected.h"

namespace esper::tamiyo {

enum class Statistic : std::uint8_t {
  kLoss,
  kValidationLoss,
  kTrainingLoss,
  kGradientNorm,
  kSamplesPerS,
  kHookLatencyMs,
  kGlobalEpoch,
  kGlobalStep,
  kEpochProgress,
  kSeedLearningRate,
  kSeedRisk,
  kSeedGradientNorm,
  kSeedAge,
  kBlueprintParamLog,
  kBlueprintCandidateScore,
  kLayerLatencyMs,
  kLayerParameterCount,
  kLayerWeightNorm,
  kLayerGradientNorm,
  kActivationSaturation,
  kActivationGradientFlow,
  kActivationCost,
  kActivationNonlinearity,
  kParameterMin,
  kParameterMax,
  kParameterSpan,
  kParameterDefault,
};
inline constexpr std::size_t kStatistics = 27;

// What is assumed before anything was observed. The order is that of Statistic.
struct Prior {
  std::string_view name;  // in checkpoints
  double mean = 0, deviation = 1;
};
const std::array<Prior, kStatistics>& priors();
inline const Prior& prior_of(Statistic statistic) { return priors()[static_cast<std::size_t>(statistic)]; }

struct Moments {
  double mean = 0, variance = 1;
  bool operator==(const Moments&) const = default;
};

// An observation's values of one statistic: how many, their mean, and the sum of their squared distances from it.
struct Sample {
  std::size_t count = 0;
  double mean = 0, squares = 0;
  void add(double value);
};
using Samples = std::array<Sample, kStatistics>;

struct Normaliser {
  static constexpr double kAlpha = 0.1;  // weight of a new observation
  static constexpr double kLeastVariance = 1e-6;

  std::array<Moments, kStatistics> moments = from_priors();  // by Statistic

  // Exponentially weighted: with m and v the mean and the variance of the observation's values,
  //   mean' = (1 - alpha) mean + alpha m,   variance' = (1 - alpha) (variance + alpha (m - mean)^2) + alpha v,
  // the moments of the mixture of what was known and what was observed, so all values of one observation together count
  // as one. A statistic without a value is unchanged.
  void update(const Samples& samples);
  // (value - mean) / deviation.
  double normalised(Statistic statistic, double value) const;

  bool operator==(const Normaliser&) const = default;

 private:
  static std::array<Moments, kStatistics> from_priors();
};

// {"loss": [mean, variance], ...}: exact, all names of priors() and no others.
nlohmann::json normaliser_json(const Normaliser& normaliser);
// Fails, with the reason, for anything that is not such an object. Never throws.
base::Expected<Normaliser> read_normaliser(const nlohmann::json& saved);

}  // namespace esper::tamiyo
