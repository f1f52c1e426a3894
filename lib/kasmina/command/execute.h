#pragma once
// Executes commands: which ones the network rejects, and what an accepted one does. Training thread.

#include <cstdint>
#include <vector>

#include "kasmina/command/pending_command.h"
#include "kasmina/network/network_state.h"
#include "kasmina/slot/lifecycle_event.h"

namespace esper::kasmina {

// As Network::apply().
std::vector<LifecycleEvent> execute(NetworkState& network, const PendingCommand& pending, std::uint64_t now_ns);

// True if the command is a GERMINATE that nothing but gate G0 could still reject. now_ns: as Network::apply().
bool may_germinate(const NetworkState& network, const leyline::AdaptationCommand& command, std::uint64_t now_ns = 0);

}  // namespace esper::kasmina
