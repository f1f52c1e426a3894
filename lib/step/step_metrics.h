#pragma once
// Sums over the steps of an epoch. They grow on the device, inside the step, and are read at its end; FiniteWatch looks
// at them in between. Training thread.

#include <torch/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kasmina/tensor/tensor_table.h"
#include "step/seed_sums.h"

namespace esper::step {

// Positions in MetricSums::sums and in StepFigures::row.
enum Figure : std::int64_t {
  kLoss = 0,          // summed over target elements
  kGradientNorm = 1,  // global L2 norm before clipping, over finite steps
  kFinite = 2,        // steps with a finite gradient norm
  kClipped = 3,       // steps with a finite gradient norm that clipping shortened
  kNumFigures = 4,
};

// Named "metrics.<member>" in checkpoints.
struct MetricSums {
  torch::Tensor sums;     // float64 [kNumFigures]
  torch::Tensor counts;   // int64 [2]: steps, target elements
  torch::Tensor correct;  // 0-dim int64: target elements whose largest logit is the target, or all of a
                          // sample whose labels are all met; 0 for regression
  torch::Tensor
      group_norm_sum;  // float64 [groups]: gradient norm per group; with one group it stays 0, being the global
  std::vector<std::string> group_ids;
};

// What one step shows, before it is added to the sums. Scratch, in no checkpoint.
struct StepFigures {
  torch::Tensor row;                              // float32 [kNumFigures]
  torch::Tensor wide_row;                         // float64 [kNumFigures]: the same, as the sums take it
  std::array<torch::Tensor, kNumFigures> figure;  // elements of row, 0-dim
  torch::Tensor part;                             // 0-dim float32: loss of one microbatch, before it is added
  torch::Tensor total_weight;                     // 0-dim float32: the loss kernel's second result, unused
  torch::Tensor correct;                          // 0-dim int64: of one microbatch
  torch::Tensor norm;                             // 0-dim float32: global norm of this step, finite or not
  torch::Tensor group_norms;                      // float32 [groups]: the same per group, where there are several
  torch::Tensor infinity;                         // 0-dim float32 constant
};

// What a number of steps showed.
struct StepMetrics {
  double loss = 0;           // mean over target elements; NaN if every step overflowed in its forward
  double accuracy = 0;       // 0..1, over target elements; of labels, those of samples that have all of them right
  std::int64_t samples = 0;  // target elements: samples, or tokens where each token has a target; with fp16 those of
                             // steps whose loss is finite
  std::int64_t steps = 0;
  std::int64_t clipped_steps = 0;    // 0 where a bad step has spoilt its sum
  std::int64_t nonfinite_steps = 0;  // their gradient norms are in no mean; all steps where that sum is spoilt
  double gradient_norm = 0;          // mean over finite steps of the global L2 norm, before clipping
  std::map<std::string, double> group_gradient_norms;      // the same by group id
  std::vector<std::pair<std::string, SeedMetrics>> seeds;  // growing ones by id, in order of birth
  double loss_scale = 1;                                   // now
  std::map<std::string, double> seed_loss_scales;          // now, of seeds in the shadow, with fp16
};

struct StepState;

MetricSums make_metric_sums(torch::Device device);
StepFigures make_step_figures(torch::Device device);
// Sums of groups that stay are carried, new ones are zero.
void sync_group_sums(MetricSums& sums, const std::vector<std::string>& group_ids);
void append_named(const MetricSums& sums, std::vector<kasmina::NamedTensor>& out);

// How many of the steps a sum counts; nothing where a bad step has left a number in it that no count can be.
std::optional<std::int64_t> count_in(double sum, std::int64_t steps);

// Of the steps since the sums were reset. Waits for the device.
StepMetrics metrics_so_far(const StepState& state);
// The same, and resets the sums.
StepMetrics read_metrics(StepState& state);

}  // namespace esper::step
