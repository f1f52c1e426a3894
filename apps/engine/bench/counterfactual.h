#pragma once
// What it costs to measure what four seeds are worth.

#include "engine/bench/workload.h"
#include "leyline/statistics.h"

namespace esper::engine::bench {

// All 16 configurations of four seeds in one stacked pass, over a plain validation pass of the same network
// (bench/grown.h), taking turns.
leyline::RatioEstimate counterfactual_ratio(const Workload& workload);

}  // namespace esper::engine::bench
