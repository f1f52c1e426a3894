#include "engine/policy/make_controller.h"

#include "base/error.h"
#include "config/facts/deepening.h"
#include "engine/policy/gnn_policy.h"
#include "engine/policy/process_policy.h"
#include "tamiyo/null_controller.h"

namespace esper::engine {

using config::PolicyKind;
using config::RunConfig;

namespace {

tamiyo::Plan plan_of(PolicyKind kind, const RunConfig& config) {
  const auto& policy = config.policy;
  if (kind == PolicyKind::kPeriodic) return tamiyo::PeriodicPlan(policy.periodic);
  if (kind == PolicyKind::kRandom) return tamiyo::RandomPlan(policy.random, config.seed);
  ESPER_CHECK(kind == PolicyKind::kSchedule, "a policy without a plan");
  return tamiyo::SchedulePlan(config::scheduled_germinations(config), config.epochs);
}

}  // namespace

std::unique_ptr<tamiyo::HeuristicController> make_heuristic(const RunConfig& config) {
  return std::make_unique<tamiyo::HeuristicController>(config.policy.heuristic, config.growth, config.epochs);
}

std::unique_ptr<tamiyo::PlannedPolicy> make_planned(PolicyKind kind, const RunConfig& config) {
  return std::make_unique<tamiyo::PlannedPolicy>(plan_of(kind, config), config.policy.heuristic, config.growth,
                                                 config.epochs);
}

std::unique_ptr<leyline::Controller> make_controller(PolicyKind kind, const RunConfig& config) {
  if (kind == PolicyKind::kNone) return std::make_unique<tamiyo::NullController>();
  if (kind == PolicyKind::kGnn) return make_gnn_controller(config);
  if (kind == PolicyKind::kProcess) return make_process(kind, config);
  if (kind == PolicyKind::kHeuristic) return make_heuristic(config);
  return make_planned(kind, config);
}

}  // namespace esper::engine
