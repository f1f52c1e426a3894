#pragma once
// GERMINATE: a new seed in an empty slot. Training thread.

#include <vector>

#include "kasmina/command/pending_command.h"
#include "kasmina/network/network_state.h"
#include "kasmina/slot/lifecycle_event.h"

namespace esper::kasmina {

// Why the command is rejected before gate G0; empty if it is not. The command must be a GERMINATE of valid form.
std::vector<LifecycleEvent> refuse_germination(const NetworkState& network, const leyline::AdaptationCommand& command);

// Executes it: builds the seed, measures it on the probe, and grafts it if gate G0 lets it. The same requirement.
std::vector<LifecycleEvent> germinate(NetworkState& network, const PendingCommand& pending);

}  // namespace esper::kasmina
