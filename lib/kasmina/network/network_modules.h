#pragma once
// Modules that the host has from the start (host.modules): a baseline for grown networks. Training thread.

#include <vector>

#include "kasmina/network/network_state.h"

namespace esper::kasmina {

// Adds them as FOSSILIZED seeds, in their order. Their parameters have no owner yet. Throws Error{kConfig} if one does
// not fit its slot's feature.
void build_in(NetworkState& network, const std::vector<config::Entry<config::SlotModule>>& modules);

}  // namespace esper::kasmina
