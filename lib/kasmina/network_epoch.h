#pragma once
// The changes of slots and seeds at an epoch's end. Training thread.

#include <vector>

#include "kasmina/epoch_facts.h"
#include "kasmina/network/network_state.h"
#include "kasmina/slot/lifecycle_event.h"

namespace esper::kasmina {

// Applies an epoch's measurements, advances alpha and dwell times by one tick, and culls seeds that must go. Epochs
// must ascend.
std::vector<LifecycleEvent> end_epoch(NetworkState& network, const EpochFacts& facts);

}  // namespace esper::kasmina
