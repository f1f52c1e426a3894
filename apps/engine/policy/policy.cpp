#include "engine/policy/policy.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/names.h"
#include "engine/policy/gnn_policy.h"
#include "engine/policy/make_controller.h"
#include "engine/policy/process_policy.h"
#include "nissa/log.h"
#include "tamiyo/process/unstarted_controller.h"
#include "tamiyo/service/service_settings.h"

namespace esper::engine {
namespace {

using config::PolicyKind;
using config::RunConfig;
using tamiyo::Pace;
using tamiyo::RunPolicy;

std::unique_ptr<tamiyo::Consultation> consultation_of(std::unique_ptr<leyline::Controller> controller,
                                                      const RunConfig& config, Pace pace) {
  return std::make_unique<tamiyo::Consultation>(std::move(controller), base::Clock(), config.safety.policy_deadline,
                                                pace);
}

std::unique_ptr<RunPolicy> asked_directly(std::unique_ptr<leyline::Controller> controller, const RunConfig& config,
                                          Pace pace) {
  return std::make_unique<RunPolicy>(consultation_of(std::move(controller), config, pace));
}

std::unique_ptr<tamiyo::PolicyService> service_of(std::unique_ptr<leyline::Controller> controller,
                                                  const RunConfig& config) {
  return std::make_unique<tamiyo::PolicyService>(consultation_of(std::move(controller), config, Pace::kMayTakeLong),
                                                 tamiyo::service_settings(config.policy, config.safety.policy_deadline),
                                                 base::Clock());
}

std::unique_ptr<tamiyo::PolicyService> service_of_process(PolicyKind kind, const RunConfig& config) {
  auto controller = make_process(kind, config);
  const auto& process = *controller;  // the service keeps it
  auto service = service_of(std::move(controller), config);
  service->after_each([&process](tamiyo::ServiceReport& report) {
    std::ranges::move(process.metrics(), std::back_inserter(report.metrics));
  });
  return service;
}

std::unique_ptr<tamiyo::PolicyService> service_of_compiled(const RunConfig& config, const std::string& cache_dir) {
  auto controller = make_compiled_gnn(config, cache_dir);
  auto& compiled = *controller;  // likewise
  auto service = service_of(std::move(controller), config);
  service->after_each([&compiled](tamiyo::ServiceReport& report) {
    if (const auto size = compiled.uncompiled_size()) {
      nissa::log::info(fmt::format("compiling the policy network for up to {} nodes", tamiyo::to_text(*size)));
      compiled.compile_size();
    }
    compiled.report(report.metrics, report.evaluation.events);
  });
  return service;
}

// For one that may be slow, fail, or do harm.
std::unique_ptr<RunPolicy> served(PolicyKind kind, const RunConfig& config, const std::string& cache_dir) {
  if (config.policy.in_process(kind)) return std::make_unique<RunPolicy>(service_of_process(kind, config));
  const bool is_compiled = kind == PolicyKind::kGnn && config.policy.gnn.compile;
  return std::make_unique<RunPolicy>(is_compiled ? service_of_compiled(config, cache_dir)
                                                 : service_of(make_controller(kind, config), config));
}

lanes::LikelyChange likely_change(const std::optional<tamiyo::Germination>& next) {
  if (!next) return {};
  return {leyline::SeedOperation::kGerminate, next->slot, next->blueprint, {}};
}

lanes::LikelyChange next_change(const tamiyo::HeuristicController& policy,
                                const std::vector<leyline::SlotState>& free) {
  return likely_change(policy.next_germination(free));
}

lanes::LikelyChange next_change(const tamiyo::PlannedPolicy& policy, const std::vector<leyline::SlotState>& free) {
  lanes::LikelyChange all;
  for (const auto& one : policy.next_germinations(free)) {
    if (all.blueprint.empty()) {
      all = likely_change(one);
    } else {
      all.together.push_back(likely_change(one));
    }
  }
  return all;
}

// make: a policy with a next_change(). It is made twice: one decides, the other forecasts from the first one's state.
template <class Make>
Policy policy_that_grows(const RunConfig& config, Make make) {
  const std::shared_ptr forecaster = make();
  return {asked_directly(make(), config, Pace::kImmediate),
          [forecaster](const std::vector<leyline::SlotState>& free, const std::string& state) {
            forecaster->load_state(state);
            return next_change(*forecaster, free);
          }};
}

Policy deciding_policy(const RunConfig& config, const std::string& cache_dir) {
  const PolicyKind kind = config.policy.deciding();
  if (never_grows(config)) {
    return {asked_directly(make_controller(PolicyKind::kNone, config), config, Pace::kImmediate),
            [](const auto&, const auto&) { return lanes::LikelyChange{}; }};
  }
  if (config.policy.is_served(kind)) return {served(kind, config, cache_dir), nullptr};
  if (kind == PolicyKind::kHeuristic) return policy_that_grows(config, [&] { return make_heuristic(config); });
  return policy_that_grows(config, [&] { return make_planned(kind, config); });
}

void add_shadows(const RunConfig& config, RunPolicy& policy) {
  const auto& members = config.policy.ensemble;
  if (config.policy.kind != PolicyKind::kEnsemble || !config.growth.enabled) return;
  for (std::size_t i = 1; i < members.size(); ++i) {
    const PolicyKind kind = members[i]->kind;
    auto shadow = config.policy.in_process(kind) ? make_process(kind, config) : make_controller(kind, config);
    policy.add_shadow(std::string(base::name_of(kind)), consultation_of(std::move(shadow), config, Pace::kMayTakeLong));
  }
}

}  // namespace

bool never_grows(const RunConfig& config) {
  return config.policy.deciding() == PolicyKind::kNone || !config.growth.enabled;
}

Policy make_policy(const RunConfig& config, const std::string& cache_dir,
                   std::unique_ptr<leyline::Controller> controller) {
  // Nobody knows how long one that was handed in takes; the run's own are a few comparisons.
  if (controller) return {asked_directly(std::move(controller), config, Pace::kMayTakeLong), nullptr};
  Policy made = deciding_policy(config, cache_dir);
  add_shadows(config, *made.policy);
  return made;
}

std::unique_ptr<RunPolicy> make_policy_for_state(const RunConfig& config) {
  const PolicyKind kind = never_grows(config) ? PolicyKind::kNone : config.policy.deciding();
  std::unique_ptr<leyline::Controller> controller =
      kind == PolicyKind::kProcess ? std::make_unique<tamiyo::UnstartedController>() : make_controller(kind, config);
  if (config.policy.is_served(kind)) return std::make_unique<RunPolicy>(service_of(std::move(controller), config));
  return asked_directly(std::move(controller), config, Pace::kImmediate);
}

}  // namespace esper::engine
