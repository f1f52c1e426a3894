#include "tamiyo/growth_guards.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace esper::tamiyo {
namespace {

constexpr std::size_t kFewestLosses = 3;  // that have a spread to speak of
constexpr double kFarOut = 3;             // standard deviations

double percent(double share) { return 100 * share; }

// The alpha of a blended seed rises from its germination on, that of any other with its blend.
int epochs_to_full_alpha(const config::GrowthConfig& growth) {
  using config::SeedTraining;
  const auto& gates = growth.gates;
  const int to_target = growth.alpha_ticks - 1;  // the first tick comes with the command
  if (growth.training == SeedTraining::kBlended) {
    return std::max(gates.min_training_epochs + gates.min_blending_epochs, to_target);
  }
  const int rest = growth.training == SeedTraining::kStraightThrough ? 1 : 0;  // before its training
  return rest + gates.min_training_epochs + std::max(gates.min_blending_epochs, to_target);
}

}  // namespace

int shortest_life(const config::GrowthConfig& growth) {
  return epochs_to_full_alpha(growth) + growth.gates.min_shadow_epochs + growth.gates.min_probation_epochs;
}

base::Expected<void> check_horizon(const Horizon& horizon, const config::HeuristicConfig& config, std::uint32_t epoch) {
  const int left = horizon.epochs - static_cast<int>(epoch);
  if (left <= 0) return base::failure("the run is over");
  if (config.min_share_left == 0) return {};
  const auto to_gain = static_cast<int>(std::ceil(config.min_share_left * horizon.epochs));
  if (left < horizon.shortest_life) {
    return base::failure(
        fmt::format("{} epochs left, and a seed needs {} to become part of the host", left, horizon.shortest_life));
  }
  if (left < to_gain) {
    return base::failure(
        fmt::format("{} epochs left < {}, {:.4g} % of the run", left, to_gain, percent(config.min_share_left)));
  }
  return {};
}

base::Expected<void> check_capacity(const leyline::Observation& observation, const config::HeuristicConfig& config) {
  const auto found = observation.training_metrics.find("accuracy");
  if (found == observation.training_metrics.end() || !std::isfinite(found->second)) return {};
  const double accuracy = percent(found->second);
  if (accuracy > config.max_training_accuracy) {
    return base::failure(fmt::format("the training data are fitted: training accuracy {:.4g} % > {:.4g} %", accuracy,
                                     config.max_training_accuracy));
  }
  const double gap = accuracy - percent(observation.validation_accuracy);
  if (gap > config.max_gap_points) {
    return base::failure(
        fmt::format("it generalises badly: training accuracy is {:.4g} points above validation "
                    "accuracy (allowed {:.4g})",
                    gap, config.max_gap_points));
  }
  return {};
}

base::Expected<void> check_outlier(std::span<const double> losses, const leyline::Observation& observation) {
  const auto* change = leyline::change_over(observation.validation_changes, 1);
  if (change != nullptr && !shows_rise(*change)) return {};
  const double loss = observation.validation_loss;
  if (losses.size() < kFewestLosses) return {};
  const auto count = static_cast<double>(losses.size());
  double mean = 0, squares = 0;
  for (const double one : losses) mean += one / count;
  for (const double one : losses) squares += (one - mean) * (one - mean);
  const double deviation = std::sqrt(squares / (count - 1));
  if (loss <= mean + kFarOut * deviation) return {};
  return base::failure(fmt::format("validation loss {:.4g} stands out from the last {} epochs ({:.4g} +- {:.2g})", loss,
                                   losses.size(), mean, deviation));
}

base::Expected<void> check_guards(const GrowthQuestion& question) {
  using Guard = base::Expected<void> (*)(const GrowthQuestion&);
  constexpr Guard kGuards[] = {[](const GrowthQuestion& q) -> base::Expected<void> {
                                 if (q.observation.is_last) return base::failure("the run is over");
                                 return check_horizon(q.horizon, q.config, q.observation.current_epoch);
                               },
                               [](const GrowthQuestion& q) { return check_capacity(q.observation, q.config); },
                               [](const GrowthQuestion& q) { return check_outlier(q.losses, q.observation); }};
  for (const Guard guard : kGuards) {
    if (auto answer = guard(question); !answer) return answer;
  }
  return {};
}

}  // namespace esper::tamiyo
