#pragma once
// Parameters of the host that do not learn: they are no part of a parameter group, and are saved as buffers are.
// Training thread.

#include <string_view>

#include "kasmina/network/network_state.h"

namespace esper::kasmina {

// Whether host.freeze keeps that parameter of the host from learning now. The last pattern that fits decides: one with
// "!" before it takes names out again.
bool is_frozen(const NetworkState& network, std::string_view id);

// Gradients are computed for the host's parameters that learn, and for no others. After the network was built or
// restored, and after each epoch. Returns whether that changed.
bool refresh_frozen(NetworkState& network);

// Throws Error{kConfig} where a pattern fits no name, or nothing is left that learns.
void check_frozen(const NetworkState& network);

}  // namespace esper::kasmina
