#pragma once
// SGD and AdamW over flat tensors. Learning rate and step count are tensors, so an update is a fixed list of tensor
// operations, whatever their values. Parity: torch.optim.SGD (dampening 0), torch.optim.AdamW (no amsgrad).

#include <torch/types.h>

#include "config/training_config.h"
#include "step/step_state.h"

namespace esper::step {

// One update of a group's parameters by its gradients, which it uses as scratch: one call over all of them, or with
// config.foreach false one per parameter, which changes no bit. After update_scalars, without gradient recording.
void update_parameters(GroupState& group, const config::OptimizerConfig& config);

}  // namespace esper::step
