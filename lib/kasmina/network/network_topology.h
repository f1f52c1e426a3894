#pragma once
// A network's structure saved and rebuilt. Training thread.

#include <nlohmann/json_fwd.hpp>

#include "kasmina/network/network_state.h"

namespace esper::kasmina {

// Everything except tensor values: topology, stages, counters, histories.
nlohmann::json save_topology(const NetworkState& network);

// The same structure in a network of the same configuration; the caller then copies tensor values in by id. Seeds that
// the network already holds keep their tensors. Throws Error{kCheckpoint}, without any change, if it does not fit.
void restore_topology(NetworkState& network, const nlohmann::json& saved);

}  // namespace esper::kasmina
