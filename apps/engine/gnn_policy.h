#pragma once
// The policy `gnn` of a run file: its network, with the weights of policy.file or with none that were learned.

#include <memory>

#include "config/run_config.h"
#include "leyline/controller.h"

namespace esper::engine {

// Throws Error{kPolicy} where policy.file is no file of such weights.
std::unique_ptr<leyline::Controller> make_gnn_controller(const config::RunConfig& config);

}  // namespace esper::engine
