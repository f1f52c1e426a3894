#pragma once
// How long the policy network takes from a graph to its answer, in each form and for graphs of three sizes; the forms
// take turns.

#include <string>
#include <vector>

#include "config/run_config.h"
#include "engine/bench/measure.h"
#include "engine/bench/rounds.h"
#include "engine/scratch.h"

namespace esper::engine::bench {

struct LatencyRow {
  int nodes = 0;
  Row row;
};

struct Latency {
  std::vector<LatencyRow> rows;
  std::vector<Refused> refused;
};

struct LatencyPlan {
  int rounds = 0;
  bool peers = false;  // also PyTorch Geometric, eager and compiled
};

// Throws Error{kBug} where a form's answer is not that of the eager one.
Latency measure_latency(const config::RunConfig& config, const Scratch& scratch, const LatencyPlan& plan);

}  // namespace esper::engine::bench
