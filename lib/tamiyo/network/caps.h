#pragma once
// How many nodes of each type the dense form of a graph has room for. Graphs of similar sizes share one form, so one
// recorded or compiled program serves them. Any thread.

#include <array>
#include <string>

#include "base/expected.h"
#include "tamiyo/graph/hetero_graph.h"

namespace esper::tamiyo {

using Caps = std::array<int, kNodeTypes>;  // by NodeType

// Of a node type in Caps and in all that is by NodeType.
constexpr std::size_t place_of(NodeType type) { return static_cast<std::size_t>(type); }

inline constexpr int kLeastCap = 4, kMostCap = 256;

// One global node; of the other types the next of 4, 8, 12, 16, 24, 32, 48, ... 256, so that at most a third is padding
// where there are many. Fails for more than kMostCap nodes of a type. graph: one that check_graph() accepts.
base::Expected<Caps> caps_for(const HeteroGraph& graph);

// "1 global, 4 seed, 16 blueprint, ..."
std::string to_text(const Caps& caps);

}  // namespace esper::tamiyo
