#pragma once
// The tables of a network's tensors, and who owns its parameters. Training thread.

#include <cstdint>
#include <vector>

#include "kasmina/network/network_state.h"
#include "kasmina/tensor/parameter_group.h"

namespace esper::kasmina {

std::vector<ParameterGroup> parameter_groups_of(const NetworkState& network);
std::vector<NamedTensor> buffers_of(const NetworkState& network);
// Per seed: "seed-0001.alpha", ".straight_through", ".isolation_gate", ".training_gate": 0-dim float32 on the device.
std::vector<NamedTensor> scalars_of(const NetworkState& network);

// Numbers in all parameters, frozen ones included.
std::int64_t num_parameters_of(const NetworkState& network);
// Of those that the host owns and that learn, fossilised seeds included.
std::int64_t num_learning_host_parameters(const NetworkState& network);

// Rebuilds the registry of owners from the slots.
void assign_owners(NetworkState& network);

}  // namespace esper::kasmina
