#pragma once
// Whole runs that the policy network decides, through the real loop.

#include "base/statistics.h"
#include "config/run_config.h"
#include "engine/bench/loop.h"
#include "engine/scratch.h"

namespace esper::engine::bench {

// A run with as many seeds as growth.max_seeds allows, which the network germinated; with policy.file as that file
// decides. What it needs was compiled before.
LoopFigures run_decided_epochs(const config::RunConfig& config, const Scratch& scratch);

// Of seeds that grow at the end.
int growing_seeds(const LoopFigures& figures);

struct StepCost {
  std::int64_t steps_per_epoch = 0;
  std::vector<double> on_us, off_us;  // of each step
  base::RatioEstimate ratio;          // of the medians of each pair of runs, on over off
};

// Pairs of runs of the same network, which does not grow: the policy network decides in one, nobody in the other.
StepCost measure_step_cost(const config::RunConfig& config, const Scratch& scratch, int pairs);

}  // namespace esper::engine::bench
