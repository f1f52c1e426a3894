#include "tolaria/clip.h"

namespace esper::tolaria {

GradientNorms gradient_norms(torch::TensorList gradients) {
  const torch::Tensor per_tensor = at::stack(at::_foreach_norm(gradients));
  return {per_tensor, at::linalg_vector_norm(per_tensor)};
}

torch::Tensor clip_factor(const torch::Tensor& norm, double max_norm) {
  return norm.add(1e-6).reciprocal_().mul_(max_norm).clamp_max_(1.0);
}

}  // namespace esper::tolaria
