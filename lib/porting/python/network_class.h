#pragma once
// A grown network as a PyTorch class. Training thread.

#include <string>
#include <vector>

#include "porting/python/network_source.h"

namespace esper::porting {

// The text of `class Network`, which uses the classes of hosts.py and modules.py. Its parameters and buffers have
// Esper's ids, seeds with _ for -: "host.block0.linear.weight", "seed_0001.up.weight". Seeds that are not part of the
// network are left out; a fossil that was folded into the host is part of its layer. Reads the device, and of an
// imported host the folder that it came in. Throws Error{kData} where that cannot be read.
std::string network_class(const NetworkSource& source);

// The tensors of that class by their names there, in order of creation.
std::vector<kasmina::NamedTensor> network_values(const kasmina::NetworkState& network);

}  // namespace esper::porting
