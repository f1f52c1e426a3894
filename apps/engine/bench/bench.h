#pragma once
// One scenario from its configuration to its report.

#include <nlohmann/json_fwd.hpp>

#include "engine/bench/scratch.h"
#include "esper/engine_api.h"

namespace esper::engine::bench {

// The report of report.h, complete; with `growth` for the scenario of that name.
nlohmann::ordered_json run_scenario(const BenchRequest& request, const leyline::RunConfig& config,
                                    const Scratch& scratch);

}  // namespace esper::engine::bench
