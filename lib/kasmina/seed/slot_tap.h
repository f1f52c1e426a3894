#pragma once
// The tensors of a slot with a growing seed in a forward pass, for measuring gradients there. Training thread.

#include <torch/types.h>

#include <functional>
#include <vector>

namespace esper::kasmina {

// All of the feature's shape. The host's feature takes two paths: past the seed, and into it. Each path has its own
// tensor, so the gradients along them can be separated.
struct SlotTap {
  torch::Tensor host_path, seed_path;
  torch::Tensor output;          // what leaves the slot
  torch::Tensor change;          // output minus the host's feature; no gradient
  torch::Tensor isolation_gate;  // 0-dim: 0 while no gradient may flow along seed_path
  // Of a seed that trains in the shadow of the network: Network::shadow() with the feature of this forward, once. It
  // borrows the network.
  std::function<torch::Tensor()> shadow{};
};

// One for each growing seed, in order of birth.
using SlotTaps = std::vector<SlotTap>;

}  // namespace esper::kasmina
