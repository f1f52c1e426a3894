#pragma once
// The forward of a network. Training thread.

#include <torch/types.h>

#include "kasmina/network/network_state.h"
#include "kasmina/seed/slot_tap.h"
#include "kasmina/tensor/mode.h"

namespace esper::kasmina {

torch::Tensor forward(const NetworkState& network, const torch::Tensor& inputs, Mode mode);

// The same in Mode::kTrain, for what batch norms write: each seed in the shadow, which that forward leaves out, runs
// beside it on what its slot receives. Draws the forward's random numbers and no others.
void forward_with_shadows(const NetworkState& network, const torch::Tensor& inputs);

// forward(), with the taps of each growing seed. Requires gradients enabled.
SlotTaps tap(const NetworkState& network, const torch::Tensor& inputs, Mode mode, torch::Tensor& output);

}  // namespace esper::kasmina
