#pragma once
// What the network needs of a graph. Any thread.

#include "base/expected.h"
#include "tamiyo/graph/hetero_graph.h"

namespace esper::tamiyo {

// Fails unless there is exactly one global node, every table has the lengths that its count says, and every edge joins
// nodes that exist; names the table.
base::Expected<void> check_graph(const HeteroGraph& graph);

}  // namespace esper::tamiyo
