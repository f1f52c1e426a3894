#pragma once
// Losses as sums over targets, with their gradients in closed form: the backward pass then starts at the outputs.
// Formulas: docs/tasks.md.

#include <torch/types.h>

#include <cstdint>

#include "step/step_settings.h"

namespace esper::step {

// Outputs and targets, as the loss takes them: logits [N, C] float32 with targets [N] int64,
// or outputs [N, K] float32 with targets [N, K] float32.
struct Prediction {
  torch::Tensor logits, targets;
};

// With int64 targets, logits: [B, C] with targets [B]; [B, T, C] with targets [B, T], where each token counts as a
// sample; [B, C, H, W] with targets [B, H, W], where each pixel does. With float32 targets both have the same shape
// [B, ...]. Logits of any floating type; the loss is taken in float32. The result carries no gradient.
Prediction flatten(const torch::Tensor& logits, const torch::Tensor& targets);
// A gradient at Prediction::logits as one at the logits that flatten() took.
torch::Tensor unflatten(const torch::Tensor& gradient, const torch::Tensor& logits, const torch::Tensor& targets);

// Where a loss is written, 0-dim float32.
struct LossSum {
  torch::Tensor& sum;           // over targets
  torch::Tensor& total_weight;  // scratch of the kernel
};

struct LossOptions {
  double label_smoothing;
  const torch::Tensor& weight;         // 0-dim float32, on the gradient
  const torch::Tensor& class_weights;  // float32 [C] or [K]; undefined: 1 for all
};

// The loss of these settings, as written to out.sum; returns weight * d(sum)/d(logits), shaped as prediction.logits.
torch::Tensor loss_gradient(const LossSettings& settings, const Prediction& prediction, const LossOptions& options,
                            const LossSum& out);
// The same without label smoothing, class weights and gradient: of all targets, and of each, float32 [N] or [N, K].
torch::Tensor loss_sum(const LossSettings& settings, const Prediction& prediction);
torch::Tensor target_losses(const LossSettings& settings, const Prediction& prediction);

// 0-dim float32: what the mean over these targets divides by, which is the sum of their classes' weights.
torch::Tensor sum_of_weights(const torch::Tensor& class_weights, const torch::Tensor& targets);

// As PyTorch's cross_entropy with reduction "sum": (1 - s) * w[target] * -log p[target] + s/C * sum over classes of
// w * -log p, s the label smoothing and w the class weights. Returns weight * d(sum)/d(logits), [N, C] float32. A
// target outside 0..C-1 throws on the CPU; none is ignored.
torch::Tensor cross_entropy(const Prediction& prediction, const LossOptions& options, const LossSum& out);
// Without smoothing and without gradient.
torch::Tensor cross_entropy_sum(const Prediction& prediction);

// The same for each target, float32 [N].
torch::Tensor cross_entropies(const Prediction& prediction);

// int64 [N]: 1 where the largest logit is the target's, else 0. With float32 targets bool [N, K]: as label_hits().
torch::Tensor hits(const Prediction& prediction);
// 0-dim int64: how many targets have the largest logit.
torch::Tensor count_correct(const Prediction& prediction);

}  // namespace esper::step
