#pragma once
// Policies in processes of their own: a program of the user's (policy.kind process), or a policy of Esper's own in
// `esper policy serve` (policy.host process).

#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "config/run_config.h"
#include "leyline/controller.h"
#include "tamiyo/process/process_controller.h"

namespace esper::engine {

// Started, and ready. kind: any but ensemble. Throws Error{kPolicy} with the reason where it is not.
std::unique_ptr<tamiyo::ProcessController> make_process(config::PolicyKind kind, const config::RunConfig& config);

// In `esper policy serve`, of what make_process() of the run says at the start. Throws as make_controller().
std::unique_ptr<leyline::Controller> make_served(const nlohmann::json& start);

}  // namespace esper::engine
