#pragma once
// SGD and AdamW over flat tensors. Learning rate and step count are 0-dim tensors, so an update is a fixed list of
// tensor operations, whatever their values. Parity: torch.optim.SGD (dampening 0), torch.optim.AdamW (no amsgrad).

#include <torch/types.h>

#include "leyline/config/training_config.h"
#include "tolaria/step_state.h"

namespace esper::tolaria {

// One update of a group's parameters by group.gradients, which it uses as scratch. lr: 0-dim float32, before lr_scale.
// Call it without gradient recording.
void update_parameters(GroupState& group, const torch::Tensor& lr, const leyline::OptimizerConfig& config);

}  // namespace esper::tolaria
