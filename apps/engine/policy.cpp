#include "engine/policy.h"

#include <utility>

#include "tamiyo/heuristic.h"
#include "tamiyo/null_controller.h"

namespace esper::engine {
namespace {

using config::RunConfig;

bool never_grows(const RunConfig& config) {
  return config.policy.kind == config::PolicyKind::kNone || !config.growth.enabled;
}

std::unique_ptr<leyline::Controller> configured_controller(const RunConfig& config) {
  if (never_grows(config)) return std::make_unique<tamiyo::NullController>();
  return std::make_unique<tamiyo::HeuristicController>(config.policy.heuristic, config.growth);
}

lanes::GerminationForecast configured_forecast(const RunConfig& config) {
  if (never_grows(config)) {
    return [](const auto&, const auto&) { return lanes::LikelyChange{}; };
  }
  const auto policy = std::make_shared<tamiyo::HeuristicController>(config.policy.heuristic, config.growth);
  return [policy](const std::vector<leyline::SlotState>& free, const std::string& state) {
    policy->load_state(state);
    const auto next = policy->next_germination(free);
    if (!next) return lanes::LikelyChange{};
    return lanes::LikelyChange{leyline::SeedOperation::kGerminate, next->slot, next->blueprint, {}};
  };
}

std::unique_ptr<tolaria::Consultation> consultation_of(std::unique_ptr<leyline::Controller> controller,
                                                       const RunConfig& config, tolaria::Pace pace) {
  return std::make_unique<tolaria::Consultation>(std::move(controller), base::Clock(), config.safety.policy_deadline,
                                                 pace);
}

}  // namespace

Policy make_policy(const RunConfig& config, std::unique_ptr<leyline::Controller> controller) {
  using tolaria::Pace;
  // Nobody knows how long one that was handed in takes; the run's own are a few comparisons.
  if (controller) return {consultation_of(std::move(controller), config, Pace::kMayTakeLong), nullptr};
  return {consultation_of(configured_controller(config), config, Pace::kImmediate), configured_forecast(config)};
}

}  // namespace esper::engine
