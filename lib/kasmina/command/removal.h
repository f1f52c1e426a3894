#pragma once
// CULL and CANCEL: a seed that leaves its slot. Training thread.

#include <string>
#include <vector>

#include "kasmina/network/network_state.h"
#include "kasmina/slot/lifecycle_event.h"
#include "leyline/command.h"

namespace esper::kasmina {

// Removes the slot's seed at once. command_id: empty if no command asks for it.
std::vector<LifecycleEvent> cull(NetworkState& network, Slot& slot, const std::string& reason,
                                 const std::string& command_id);

// Blends the slot's growing seed out, over as many epochs as it would have been blended in; the epoch in which its
// alpha reaches 0 removes it. At alpha 0 it is removed at once.
std::vector<LifecycleEvent> cancel(NetworkState& network, Slot& slot, const leyline::AdaptationCommand& command);

}  // namespace esper::kasmina
