#include "tolaria/evaluation/stacked_validation.h"

#include <torch/types.h>

#include <algorithm>

#include "device/precision.h"
#include "kasmina/network/network_stacked.h"
#include "step/loss.h"

namespace esper::tolaria {

using step::flatten;
using step::Microbatch;
using step::Prediction;

namespace {

// Per group of the plan.
struct StackedSums {
  torch::Tensor loss;  // float64 [groups]
  ScoreSums score;
};

void add_piece(const Microbatch& piece, const Stack& stack, const Validation& validation, StackedSums& sums) {
  const std::int64_t groups = stack.plan.groups, rows = piece.inputs.size(0);
  torch::Tensor logits;
  {
    device::AutocastScope autocast(validation.device.type(), validation.compute_type);
    logits = kasmina::forward_stacked(stack.network.state(), piece.inputs, stack.plan);
  }
  std::vector<std::int64_t> sizes = piece.targets.sizes().vec();
  sizes.insert(sizes.begin(), groups);
  const Prediction prediction = flatten(logits, piece.targets.expand(sizes).flatten(0, 1));
  sums.loss.add_(target_losses(validation.scoring.loss, prediction).view({groups, -1}).sum(1, false, torch::kFloat64));
  sums.score.add(prediction, rows);
}

// Cuts into pieces whose sizes differ by at most one row.
std::int64_t rows_of_a_piece(std::int64_t rows, const Stack& stack) {
  const std::int64_t most = std::max<std::int64_t>(1, stack.max_rows / stack.plan.groups);
  const std::int64_t pieces = (rows + most - 1) / most;
  return (rows + pieces - 1) / pieces;
}

// False if should_stop ended it.
bool add_batch(const Microbatch& batch, const Stack& stack, const Validation& validation, StackedSums& sums) {
  const c10::InferenceMode inference;
  const std::int64_t rows = batch.inputs.size(0), step = rows_of_a_piece(rows, stack);
  for (std::int64_t begin = 0; begin < rows; begin += step) {
    if (validation.should_stop && validation.should_stop()) return false;
    const std::int64_t count = std::min(step, rows - begin);
    add_piece({batch.inputs.narrow(0, begin, count), batch.targets.narrow(0, begin, count)}, stack, validation, sums);
  }
  return true;
}

void read(const StackedSums& sums, const kasmina::StackedPlan& plan, StackedResult& result) {
  const torch::Tensor losses = sums.loss.cpu();
  const std::vector<Score> scores = sums.score.read();
  for (const std::int64_t group : plan.group_of) {
    const Score& score = scores[static_cast<std::size_t>(group)];
    result.loss.push_back(losses.const_data_ptr<double>()[group] / static_cast<double>(result.targets));
    result.score.push_back(score.value);
    const auto* first = score.by_sample.const_data_ptr<float>();
    result.correct.emplace_back(first, first + score.by_sample.numel());
  }
}

}  // namespace

StackedResult validate_stacked(const NextBatch& next_batch, const Stack& stack, const Validation& validation) {
  StackedSums sums{at::zeros({stack.plan.groups}, torch::dtype(torch::kFloat64).device(validation.device)),
                   {validation.scoring, stack.plan.groups, PerSample::kKept, validation.device}};
  StackedResult result;
  for (auto batch = next_batch(); batch; batch = next_batch()) {
    if (!add_batch(*batch, stack, validation, sums)) {
      result.complete = false;
      return result;
    }
    result.targets += batch->targets.numel();
  }
  if (result.targets > 0) read(sums, stack.plan, result);
  return result;
}

}  // namespace esper::tolaria
