#pragma once
// The forward of a network. Training thread.

#include <torch/types.h>

#include "kasmina/network/network_state.h"
#include "kasmina/seed/slot_tap.h"
#include "kasmina/tensor/mode.h"

namespace esper::kasmina {

torch::Tensor forward(const NetworkState& network, const torch::Tensor& inputs, Mode mode);

// The same forward, with the taps of each growing seed. Requires gradients enabled.
SlotTaps tap(const NetworkState& network, const torch::Tensor& inputs, Mode mode, torch::Tensor& output);

}  // namespace esper::kasmina
