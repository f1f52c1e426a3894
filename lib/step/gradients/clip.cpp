#include "step/gradients/clip.h"

namespace esper::step {

torch::Tensor clip_factor(const torch::Tensor& norm, double max_norm) {
  return norm.add(1e-6).reciprocal_().mul_(max_norm).clamp_max_(1.0).nan_to_num_(1.0);
}

}  // namespace esper::step
