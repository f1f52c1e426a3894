#pragma once
// Runs that grow.

#include <string>

#include "engine/bench/loop.h"

namespace esper::engine::bench {

// The same run with a cache of programs of its own, which is empty.
leyline::RunConfig with_empty_cache(leyline::RunConfig config, const Scratch& scratch);
// The same run in lane compiled where it is in auto: afterwards the cache has all its programs.
leyline::RunConfig waiting_for_programs(leyline::RunConfig config);

// One run that germinates, blends and prunes, again and again, every step timed. `name`: of its folder.
LoopFigures run_growing(const leyline::RunConfig& config, const Scratch& scratch, const std::string& name);

}  // namespace esper::engine::bench
