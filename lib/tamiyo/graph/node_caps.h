#pragma once
// How many nodes a graph may have, so that the network's forward has one shape. Any thread.

#include <array>

#include "tamiyo/graph/hetero_graph.h"

namespace esper::tamiyo {

// By NodeType. What is beyond is left out and counted (Coverage::left_out): seeds keep the live ones in order of birth,
// then the empty slots from the input on; blueprints the catalogue's order; layers those that a slot follows, then the
// others from the input on; parameters the order in which the observation has them. An activation is its layer's.
inline constexpr std::array<int, kNodeTypes> kNodeCaps = {1, 64, 32, 64, 64, 16};

}  // namespace esper::tamiyo
