#pragma once
// The numbers that the optimizer keeps per parameter group, for all groups in one tensor each, so that their arithmetic
// is one operation whatever the number of groups. Training thread.

#include <torch/types.h>

#include <cstddef>

#include "config/training_config.h"

namespace esper::step {

// float32, one element per group unless said otherwise. `steps` and what follows `rates` is for adamw, else undefined.
struct GroupScalars {
  torch::Tensor lr_scales;  // factor on the learning rate
  torch::Tensor steps;      // updates so far, for bias correction; it stands still while lr_scale is 0
  torch::Tensor log_betas;  // constant [2, 1]: ln(beta1), ln(beta2)

  // Scratch of one step, in no checkpoint: `scratch` holds it all, the others are its parts.
  torch::Tensor scratch;
  torch::Tensor rates;        // what the direction is multiplied by: sgd lr * lr_scale
  torch::Tensor corrections;  // [2, groups]: 1 - beta1^step; sqrt(1 - beta2^step)
  torch::Tensor correction1, root2;
  torch::Tensor eps;    // eps * root2
  torch::Tensor decay;  // 1 - lr * lr_scale * weight_decay
};

// Scales at one, steps at zero.
GroupScalars make_group_scalars(const config::OptimizerConfig& config, std::size_t groups, torch::Device device);

// Counts the step (adamw) of the groups that it updates, and fills the scratch. lr: 0-dim float32. Call it without
// gradient recording.
void update_scalars(GroupScalars& scalars, const torch::Tensor& lr, const config::OptimizerConfig& config);

}  // namespace esper::step
