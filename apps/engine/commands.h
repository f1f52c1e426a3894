#pragma once
// The commands that need tensors. Each returns the exit status; errors are thrown to the front.

#include "esper/engine_api.h"

namespace esper::engine {

int train(const EngineRequest& request);
int evaluate(const EngineRequest& request);
int fork_run(const EngineRequest& request);
int doctor(const EngineRequest& request);
int run_bench(const EngineRequest& request);
int save_baseline(const EngineRequest& request);
int check_baseline(const EngineRequest& request);

}  // namespace esper::engine
