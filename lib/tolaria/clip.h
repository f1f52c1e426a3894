#pragma once
// The global L2 norm of gradients and clipping by it, without a read of the device.

#include <torch/types.h>

namespace esper::tolaria {

struct GradientNorms {
  torch::Tensor per_tensor;  // [tensors] float32
  torch::Tensor global;      // 0-dim float32: L2 norm over all elements of all tensors
};

// gradients: not empty.
GradientNorms gradient_norms(torch::TensorList gradients);

// 0-dim: min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.
torch::Tensor clip_factor(const torch::Tensor& norm, double max_norm);

}  // namespace esper::tolaria
