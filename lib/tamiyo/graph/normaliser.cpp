#include "tamiyo/graph/normaliser.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace esper::tamiyo {

using nlohmann::json;

namespace {

// No observations lead further: their values are within +-1e9 (node_features.cpp). Their squares are finite.
constexpr double kMostMean = 1e10, kMostVariance = 1e20;

// Of the logarithm log1p(x) of what has that mean and deviation.
Prior of_logarithm(std::string_view name, double mean, double deviation) {
  return {name, std::log1p(mean), deviation / (1 + mean)};
}

base::Expected<Moments> read_moments(const json& saved) {
  if (!saved.is_array() || saved.size() != 2 || !saved[0].is_number() || !saved[1].is_number()) {
    return base::failure("must be [mean, variance]");
  }
  const Moments moments{saved[0].get<double>(), saved[1].get<double>()};
  if (!std::isfinite(moments.mean) || !std::isfinite(moments.variance)) return base::failure("must be finite");
  if (moments.variance < Normaliser::kLeastVariance) {
    return base::failure(fmt::format("must have a variance >= {}", Normaliser::kLeastVariance));
  }
  if (std::abs(moments.mean) > kMostMean || moments.variance > kMostVariance) {
    return base::failure(
        fmt::format("must have a mean within +-{:g} and a variance <= {:g}", kMostMean, kMostVariance));
  }
  return moments;
}

}  // namespace

const std::array<Prior, kStatistics>& priors() {
  static const std::array<Prior, kStatistics> kPriors{{
      {"loss", 0.8, 0.3},
      {"validation_loss", 0.8, 0.3},
      {"training_loss", 0.8, 0.3},
      {"gradient_norm", 1, 0.5},
      {"samples_per_s", 4500, 500},
      {"hook_latency_ms", 12, 6},
      {"global_epoch", 10, 5},
      of_logarithm("global_step", 100, 40),
      {"epoch_progress", 0.5, 0.25},
      {"seed_learning_rate", 0.01, 0.005},
      {"seed_risk", 0.4, 0.2},
      {"seed_gradient_norm", 1, 0.5},
      {"seed_age", 10, 4},
      {"blueprint_param_log", std::log1p(2048), 1},
      {"blueprint_candidate_score", 0.5, 0.25},
      {"layer_latency_ms", 6, 2},
      of_logarithm("layer_parameter_count", 1024, 512),
      {"layer_weight_norm", 1, 0.4},
      {"layer_gradient_norm", 0.8, 0.4},
      {"activation_saturation", 0.5, 0.2},
      {"activation_gradient_flow", 0.8, 0.2},
      of_logarithm("activation_cost", 128, 64),
      {"activation_nonlinearity", 0.5, 0.2},
      {"parameter_min", 0, 0.5},
      {"parameter_max", 1, 0.5},
      {"parameter_span", 0.5, 0.4},
      {"parameter_default", 0.5, 0.4},
  }};
  return kPriors;
}

// Welford 1962.
void Sample::add(double value) {
  ++count;
  const double before = value - mean;
  mean += before / static_cast<double>(count);
  squares += before * (value - mean);
}

std::array<Moments, kStatistics> Normaliser::from_priors() {
  std::array<Moments, kStatistics> all;
  std::ranges::transform(priors(), all.begin(), [](const Prior& prior) {
    return Moments{prior.mean, std::max(prior.deviation * prior.deviation, kLeastVariance)};
  });
  return all;
}

void Normaliser::update(const Samples& samples) {
  for (std::size_t i = 0; i < kStatistics; ++i) {
    const auto& [count, mean, squares] = samples[i];
    if (count == 0) continue;
    auto& known = moments[i];
    const double change = mean - known.mean, spread = squares / static_cast<double>(count);
    const double variance = (1 - kAlpha) * (known.variance + kAlpha * change * change) + kAlpha * spread;
    known = {known.mean + kAlpha * change, std::max(variance, kLeastVariance)};
  }
}

double Normaliser::normalised(Statistic statistic, double value) const {
  const auto& known = moments[static_cast<std::size_t>(statistic)];
  return (value - known.mean) / std::sqrt(known.variance);
}

json normaliser_json(const Normaliser& normaliser) {
  json saved = json::object();
  for (std::size_t i = 0; i < kStatistics; ++i) {
    saved[std::string(priors()[i].name)] = {normaliser.moments[i].mean, normaliser.moments[i].variance};
  }
  return saved;
}

base::Expected<Normaliser> read_normaliser(const json& saved) {
  if (!saved.is_object()) return base::failure("the normaliser must be an object");
  Normaliser normaliser;
  for (std::size_t i = 0; i < kStatistics; ++i) {
    const auto name = std::string(priors()[i].name);
    const auto found = saved.find(name);
    if (found == saved.end()) return base::failure("the normaliser lacks " + name);
    const auto moments = read_moments(*found);
    if (!moments) return base::failure(fmt::format("the normaliser's {} {}", name, moments.error()));
    normaliser.moments[i] = *moments;
  }
  if (saved.size() != kStatistics) return base::failure("the normaliser has names that are not known");
  return normaliser;
}

}  // namespace esper::tamiyo
