#pragma once
// `esper bench --precision-drift`: the same first steps in every precision of the device, against float64.

#include <nlohmann/json_fwd.hpp>

#include "config/run_config.h"
#include "engine/bench/bench.h"

namespace esper::engine::bench {

// What all of its rows start from: fp32, no dropout.
config::RunConfig for_drift(config::RunConfig config);

// The session's header with `drift` (drift_figures.h). The reference is the peer in float64, an independent
// implementation of the step: Esper's own state is float32. Rows are steps in lane eager. Of a session of a
// configuration by for_drift(). Throws Error: kConfig where the peer cannot train the same, kResources without Python
// or where the peer fails.
nlohmann::ordered_json measure_drift(const Session& session, const Scratch& scratch, int steps);

}  // namespace esper::engine::bench
