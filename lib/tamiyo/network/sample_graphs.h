#pragma once
// Graphs and weights to check and to time the network with. The same numbers on each machine and in each process, but
// graphs only with the same standard library. Any thread.

#include <array>
#include <cstdint>

#include "tamiyo/graph/hetero_graph.h"
#include "tamiyo/network/weights.h"

namespace esper::tamiyo {

// Weights as scripts/record_tamiyo_parity.py has them: no tensor is zero or constant, heads included, since zeros hide
// errors.
Weights dense_weights();

struct GraphShape {
  std::array<int, kNodeTypes> nodes{};  // by NodeType
  double density = 0.4;                 // of all possible edges of each relation
  bool every_second_relation = false;   // the others have no edge
};

HeteroGraph random_graph(const GraphShape& shape, std::uint64_t seed);

int count_nodes(const HeteroGraph& graph);

// 8, 30 and 100 nodes.
inline constexpr std::array<GraphShape, 3> kGraphShapes = {
    {{{1, 1, 2, 2, 1, 1}, 0.7}, {{1, 8, 8, 9, 2, 2}, 0.4}, {{1, 24, 24, 36, 8, 7}, 0.2}}};

}  // namespace esper::tamiyo
