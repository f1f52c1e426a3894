#pragma once
// What it costs to measure what four seeds are worth.

#include "engine/bench/workload.h"
#include "leyline/statistics.h"

namespace esper::engine::bench {

// All 16 configurations of four seeds in one stacked pass, over a plain validation pass of the same network, taking
// turns. The network is the workload's host with four blocks, a 2 x 2 pool after each but the last, and a seed in each
// slot. The workload's host is a cnn.
leyline::RatioEstimate counterfactual_ratio(const Workload& workload);

}  // namespace esper::engine::bench
