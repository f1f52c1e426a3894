#pragma once
// Seeds that train in the shadow of the network: a forward of their own, from their slot on. Training thread.

#include <torch/types.h>

#include <cstddef>

#include "kasmina/network/network_state.h"
#include "kasmina/seed/slot_tap.h"

namespace esper::kasmina {

// The second forward, which trains a seed in the shadow of the network: the logits with that seed at alpha 1 and
// everything else as it trains, but without dropout. `from`: what its slot receives in the first one, which leaves
// the seed out. The gradient is meant for the seed's parameters alone; of all buffers only the seed's own change, and
// no random number is drawn, so that the host trains as it would without the seed.
torch::Tensor shadow(const NetworkState& network, std::size_t slot, const BlockOutput& from);

// The tap of such a seed's slot in the first forward, of which the seed is no part. Borrows the network.
SlotTap tap_shadow(const NetworkState& network, std::size_t slot, const BlockOutput& from);

}  // namespace esper::kasmina
