#pragma once
// What a forward pass shows of a slot with a growing seed, for whoever follows the gradient there. Training thread.

#include <torch/types.h>

#include <vector>

namespace esper::kasmina {

// All of the feature's shape. The host's feature goes two ways: past the seed, and into it. That the two are tensors of
// their own makes what comes back along each a gradient of its own.
struct SlotTap {
  torch::Tensor host_path, seed_path;
  torch::Tensor output;          // what leaves the slot
  torch::Tensor change;          // output minus the host's feature, as a value: it carries no gradient
  torch::Tensor isolation_gate;  // 0-dim: 0 while nothing may come back along seed_path
};

// One for each growing seed, in order of birth.
using SlotTaps = std::vector<SlotTap>;

}  // namespace esper::kasmina
