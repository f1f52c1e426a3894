#pragma once
// The class of a network whose host is a PyTorch model that `esper import` took over. Training thread.

#include <string>

#include "porting/python/network_source.h"

namespace esper::porting {

// Its forward is the host's evaluation program, call by call, with the seeds between. As network_class() otherwise.
std::string imported_network_class(const NetworkSource& source);

}  // namespace esper::porting
