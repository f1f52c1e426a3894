#pragma once
// SGD and AdamW over flat tensors. Learning rate and step count are tensors, so an update is a fixed list of tensor
// operations, whatever their values. Parity: torch.optim.SGD (dampening 0), torch.optim.AdamW (no amsgrad).

#include <torch/types.h>

#include "config/training_config.h"
#include "step/step_state.h"

namespace esper::step {

// The tensors of one update: of a whole group, or of one parameter. Moments that are not kept are undefined.
struct UpdateOperands {
  torch::Tensor parameter, gradient, first_moment, second_moment;
  ElementFactors factors{};
};

// All that differs from one optimizer to another: its row. The numbers of its update per group: step/group_scalars.h.
struct Optimizer {
  config::OptimizerKind kind;
  bool is_adaptive;  // keeps second moments, and counts steps to correct its moments' bias
  int family_index;  // in the policy's observation; part of the contract
  void (*update)(const UpdateOperands& of, const GroupState& group, const config::OptimizerConfig& config);
};
const Optimizer& optimizer_of(config::OptimizerKind kind);

bool keeps_first_moments(const config::OptimizerConfig& config);
bool keeps_second_moments(const config::OptimizerConfig& config);

// One update of a group's parameters by its gradients, which it uses as scratch: one call over all of them, or with
// config.foreach false one per parameter, which changes no bit. After update_scalars, without gradient recording.
void update_parameters(GroupState& group, const config::OptimizerConfig& config);

}  // namespace esper::step
