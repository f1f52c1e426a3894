#pragma once
// What it costs to measure what four seeds are worth.

#include "base/statistics.h"
#include "engine/bench/workload.h"

namespace esper::engine::bench {

// All 16 configurations of four seeds in one stacked pass, over a plain validation pass of the same network
// (bench/grown.h), taking turns.
base::RatioEstimate counterfactual_ratio(const Workload& workload, int rounds);

}  // namespace esper::engine::bench
