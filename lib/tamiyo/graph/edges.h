#pragma once
// The edges of a graph, which follow from its nodes. Any thread.

#include "tamiyo/graph/graph_nodes.h"
#include "tamiyo/graph/hetero_graph.h"

namespace esper::tamiyo {

// Replaces the graph's edges, and reuses their memory. What is absent is 0 in an attribute.
//
// Relations are linked where a relation holds: a seed or an empty slot and the block before its slot, a blueprint and
// the blocks behind which it fits, a block and its activation, a block and the next. The run (global) is linked with
// all seeds, blueprints and blocks, each seed with each other, and each number of a command with the empty slots, the
// blueprints and the activations that it can act on.
void build_edges(const GraphNodes& nodes, HeteroGraph& graph);

}  // namespace esper::tamiyo
