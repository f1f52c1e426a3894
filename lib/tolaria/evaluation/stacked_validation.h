#pragma once
// One pass over validation data that evaluates many configurations of the network at once. Training thread.

#include <cstdint>
#include <vector>

#include "kasmina/network.h"
#include "tolaria/evaluation/validate.h"

namespace esper::tolaria {

// By configuration, in the order of the plan.
struct StackedResult {
  std::vector<double> loss;                 // mean over target elements, without label smoothing and class weights
  std::vector<double> score;                // 0..1
  std::vector<std::vector<float>> correct;  // per sample (for text: per window), its figure of the score
  std::int64_t targets = 0;                 // target elements
  bool complete = true;                     // false: should_stop ended it early; no values
};

struct Stack {
  const kasmina::Network& network;
  const kasmina::StackedPlan& plan;
  // Maximum number of the network's output rows: a batch is cut into pieces below it. One sample with all its
  // configurations is never cut.
  std::int64_t max_rows = 0;
};

// The network must be in evaluation and inference mode; next_batch runs outside of it. should_stop is polled before
// each piece. Reads the device at the end only. A configuration's values are those of validate(), within rounding: the
// kernels run on different numbers of rows.
StackedResult validate_stacked(const NextBatch& next_batch, const Stack& stack, const Validation& validation);

}  // namespace esper::tolaria
