#pragma once
// One pass over validation data that evaluates many configurations of the network at once. Training thread.

#include <cstdint>
#include <vector>

#include "kasmina/network.h"
#include "tolaria/evaluation/validate.h"

namespace esper::tolaria {

// All by configuration, in the order of the plan.
struct StackedResult {
  std::vector<double> loss;                 // mean cross entropy over target elements, without label smoothing
  std::vector<double> accuracy;             // 0..1, over target elements
  std::vector<std::vector<float>> correct;  // of each sample (for text: of each window), the share predicted right
  std::int64_t targets = 0;                 // target elements
  bool complete = true;                     // false: should_stop ended it early, and there are no figures
};

struct Stack {
  const kasmina::Network& network;
  const kasmina::StackedPlan& plan;
  // Most rows that leave the network at once: a batch is cut into pieces that keep below. One sample with all its
  // configurations is never cut.
  std::int64_t max_rows = 0;
};

// The network in evaluation and inference mode; next_batch runs outside of it. should_stop is polled before each piece.
// Reads the device once, at the end. A configuration's figures are those that validate() would give it, within
// rounding: the kernels see other numbers of rows.
StackedResult validate_stacked(const NextBatch& next_batch, const Stack& stack, const Validation& validation);

}  // namespace esper::tolaria
