#pragma once
// Measurements on the probe batch before a seed is grafted and before it trains. Without a probe they stay empty, and
// an empty one passes no gate. Training thread.

#include <torch/types.h>

#include <cstddef>

#include "kasmina/network/network_state.h"
#include "kasmina/slot/gates.h"

namespace esper::kasmina {

// What the network's output would change by with that seed at the slot, which is empty. The seed's alpha is 0
// afterwards.
GraftEvidence measure_graft(const NetworkState& network, std::size_t slot, const Seed& seed,
                            const torch::Tensor& probe);
// Runs the probe as a TRAINING seed would and backpropagates cross entropy toward the first class into the seed.
GradientEvidence measure_gradient(const NetworkState& network, const Slot& slot, const torch::Tensor& probe);

}  // namespace esper::kasmina
