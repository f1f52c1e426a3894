#pragma once
// Cross entropy as sums over targets, with its gradient in closed form: the backward pass then starts at the logits.

#include <torch/types.h>

#include <cstdint>

namespace esper::tolaria {

// Logits [N, C] float32 and targets [N] int64, as the loss takes them.
struct Prediction {
  torch::Tensor logits, targets;
};

// logits: [B, C] with targets [B], or [B, T, C] with targets [B, T], where each token counts as a sample. Any floating
// type; the loss is taken in float32. The result carries no gradient.
Prediction flatten(const torch::Tensor& logits, const torch::Tensor& targets);

struct LossAndGradient {
  torch::Tensor sum;       // 0-dim float32: sum over targets of the loss
  torch::Tensor gradient;  // [N, C] float32: weight * d(sum)/d(logits)
};

// As PyTorch's cross_entropy with reduction "sum": (1 - s) * -log p[target] + s/C * sum over classes of -log p, s the
// label smoothing. weight: 0-dim float32. A target outside 0..C-1 throws on the CPU; none is ignored.
LossAndGradient cross_entropy(const Prediction& prediction, double label_smoothing, const torch::Tensor& weight);
// Without smoothing and without gradient.
torch::Tensor cross_entropy_sum(const Prediction& prediction);

// 0-dim int64: how many targets have the largest logit.
torch::Tensor count_correct(const Prediction& prediction);

}  // namespace esper::tolaria
