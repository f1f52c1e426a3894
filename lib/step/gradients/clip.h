#pragma once
// Clipping by the global gradient norm, without a read of the device.

#include <torch/types.h>

namespace esper::step {

// 0-dim: min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_. norm: 0-dim, the L2 norm over all
// elements of all gradients. 1 where it is NaN: the gradients that are not NaN stay what they are, and the one that is
// can be named.
torch::Tensor clip_factor(const torch::Tensor& norm, double max_norm);

}  // namespace esper::step
