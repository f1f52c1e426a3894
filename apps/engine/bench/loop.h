#pragma once
// Whole runs through the real epoch loop: loader, steps, validation, observation, decision, telemetry.

#include <memory>
#include <string>

#include "base/error.h"
#include "config/run_config.h"
#include "engine/bench/loop_figures.h"
#include "engine/scratch.h"
#include "leyline/controller.h"

namespace esper::engine::bench {

// Runs config.epochs epochs in a run folder named `name` in the scratch folder. cache_dir: as set_up() takes it.
// controller: null takes the configured one. Throws Error where the run ends otherwise than expected.
LoopFigures run_loop(const config::RunConfig& config, const Scratch& scratch, const std::string& name,
                     const std::string& cache_dir, std::unique_ptr<leyline::Controller> controller = nullptr,
                     base::ExitCode expected = base::ExitCode::kDone);

}  // namespace esper::engine::bench
