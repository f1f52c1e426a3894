#pragma once
// The changes of slots and seeds at an epoch's end. Training thread.

#include <vector>

#include "kasmina/epoch_facts.h"
#include "kasmina/network/network_state.h"
#include "kasmina/slot/lifecycle_event.h"
#include "leyline/seed.h"

namespace esper::kasmina {

struct EndedEpoch {
  std::vector<LifecycleEvent> events;
  // The seeds that grew, with the epoch's measurements; also those that its end removed. Of an epoch that was undone
  // the figures are those of the one before.
  std::vector<leyline::SeedState> measured;
};

// Applies an epoch's measurements, advances alpha and dwell times by one tick, and culls seeds that must go. Epochs
// must ascend.
EndedEpoch end_epoch(NetworkState& network, const EpochFacts& facts);

}  // namespace esper::kasmina
