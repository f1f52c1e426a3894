#pragma once
// Many configurations of a network in one forward (kasmina/seed/stacked.h). Training thread.

#include <torch/types.h>

#include <span>

#include "kasmina/network/network_state.h"
#include "kasmina/seed/stacked.h"

namespace esper::kasmina {

// A plan is valid until the next command, epoch or restored topology.
StackedPlan plan_stacked(const NetworkState& network, std::span<const Configuration> configurations);
// inputs: [B, ...]. Returns logits [plan.groups * B, ...], group by group; configuration c is group plan.group_of[c].
// Without gradients.
torch::Tensor forward_stacked(const NetworkState& network, const torch::Tensor& inputs, const StackedPlan& plan);

}  // namespace esper::kasmina
