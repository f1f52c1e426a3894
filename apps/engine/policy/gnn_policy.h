#pragma once
// The policy `gnn` of a run file: its network, with the weights of policy.file or with none that were learned.

#include <memory>
#include <string>

#include "config/run_config.h"
#include "leyline/controller.h"
#include "tamiyo/network/compiled_controller.h"

namespace esper::engine {

// Both throw Error{kPolicy} where policy.file is no file of such weights; the first also where policy.gnn.bf16 cannot
// be followed.
std::unique_ptr<leyline::Controller> make_gnn_controller(const config::RunConfig& config);
// With policy.gnn.compile. cache_dir: as program::private_cache_folder() takes it.
std::unique_ptr<tamiyo::CompiledController> make_compiled_gnn(const config::RunConfig& config,
                                                              const std::string& cache_dir);

}  // namespace esper::engine
