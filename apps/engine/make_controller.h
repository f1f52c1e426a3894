#pragma once
// Controllers by their kind, with a run file's settings.

#include <memory>

#include "config/run_config.h"
#include "leyline/controller.h"
#include "tamiyo/heuristic.h"
#include "tamiyo/planned_policy.h"

namespace esper::engine {

// kind: any but ensemble, whose members are made one by one. Throws Error{kPolicy} where policy.file is needed and
// cannot be used.
std::unique_ptr<leyline::Controller> make_controller(config::PolicyKind kind, const config::RunConfig& config);

std::unique_ptr<tamiyo::HeuristicController> make_heuristic(const config::RunConfig& config);
// kind: periodic, random or schedule.
std::unique_ptr<tamiyo::PlannedPolicy> make_planned(config::PolicyKind kind, const config::RunConfig& config);

// Whether a policy of this kind is asked by the service, as one that may be slow, fail, or do harm.
bool is_served(config::PolicyKind kind);

}  // namespace esper::engine
