#pragma once
// Controllers by their kind, with a run file's settings.

#include <memory>

#include "config/run_config.h"
#include "leyline/controller.h"
#include "tamiyo/heuristic.h"
#include "tamiyo/planned_policy.h"

namespace esper::engine {

// One that decides in this process, but for kind process; a network is not compiled. kind: any but ensemble, whose
// members are made one by one. Throws Error{kPolicy} where policy.file or policy.command is needed and cannot be used,
// or is not trusted (trusted_programs.h).
std::unique_ptr<leyline::Controller> make_controller(config::PolicyKind kind, const config::RunConfig& config);

std::unique_ptr<tamiyo::HeuristicController> make_heuristic(const config::RunConfig& config);
// kind: periodic, random or schedule.
std::unique_ptr<tamiyo::PlannedPolicy> make_planned(config::PolicyKind kind, const config::RunConfig& config);

}  // namespace esper::engine
