#pragma once
// Cross entropy as sums over targets, with its gradient in closed form: the backward pass then starts at the logits.

#include <torch/types.h>

#include <cstdint>

namespace esper::step {

// Logits [N, C] float32 and targets [N] int64, as the loss takes them.
struct Prediction {
  torch::Tensor logits, targets;
};

// logits: [B, C] with targets [B], or [B, T, C] with targets [B, T], where each token counts as a sample. Any floating
// type; the loss is taken in float32. The result carries no gradient.
Prediction flatten(const torch::Tensor& logits, const torch::Tensor& targets);

// Where a loss is written, 0-dim float32.
struct LossSum {
  torch::Tensor& sum;           // over targets
  torch::Tensor& total_weight;  // scratch of the kernel
};

struct LossOptions {
  double label_smoothing;
  const torch::Tensor& weight;  // 0-dim float32, on the gradient
};

// As PyTorch's cross_entropy with reduction "sum": (1 - s) * -log p[target] + s/C * sum over classes of -log p, s the
// label smoothing. Returns weight * d(sum)/d(logits), [N, C] float32. A target outside 0..C-1 throws on the CPU; none
// is ignored.
torch::Tensor cross_entropy(const Prediction& prediction, const LossOptions& options, const LossSum& out);
// Without smoothing and without gradient.
torch::Tensor cross_entropy_sum(const Prediction& prediction);

// The same for each target, float32 [N].
torch::Tensor cross_entropies(const Prediction& prediction);

// int64 [N]: 1 where the largest logit is the target's, else 0.
torch::Tensor hits(const Prediction& prediction);
// 0-dim int64: how many targets have the largest logit.
torch::Tensor count_correct(const Prediction& prediction);

}  // namespace esper::step
