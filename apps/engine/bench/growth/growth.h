#pragma once
// Runs that grow.

#include <string>

#include "engine/bench/loop.h"

namespace esper::engine::bench {

// The same run in lane compiled where it is in auto: afterwards the cache has all its programs.
config::RunConfig waiting_for_programs(config::RunConfig config);

// One run that germinates, blends and prunes, again and again, every step timed. `name`: of its folder;
// cache_dir: of its programs.
LoopFigures run_growing(const config::RunConfig& config, const Scratch& scratch, const std::string& name,
                        const std::string& cache_dir);

}  // namespace esper::engine::bench
