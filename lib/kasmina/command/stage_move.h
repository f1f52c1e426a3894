#pragma once
// A seed enters later stages: by a gate's verdict, or without one when the run ends. Training thread.

#include <string>
#include <vector>

#include "kasmina/command/pending_command.h"
#include "kasmina/network/network_state.h"
#include "kasmina/slot/lifecycle_event.h"

namespace esper::kasmina {

// The slot's seed enters the next stage if its gate passes. A fossil that is linear is folded, a widening parted from
// its original. `to` must be a legal move.
std::vector<LifecycleEvent> advance(NetworkState& network, Slot& slot, leyline::Stage to,
                                    const PendingCommand& pending);

// KEEP: the slot's growing seed becomes a fossil at the command's alpha, without gates and without a fold.
std::vector<LifecycleEvent> keep(NetworkState& network, Slot& slot, const PendingCommand& pending);

// True if the stage and gate G5 would let the seed fossilise now. Reads measurements only, no tensors.
bool may_fossilize(const NetworkState& network, const std::string& seed_id);

}  // namespace esper::kasmina
