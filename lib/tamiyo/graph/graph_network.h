#pragma once
// The network as its users see it: what its heads answer to a graph, or why it has no answer.

#include <functional>

#include "base/expected.h"
#include "tamiyo/graph/hetero_graph.h"
#include "tamiyo/graph/policy_outputs.h"

namespace esper::tamiyo {

using GraphNetwork = std::function<base::Expected<PolicyOutputs>(const HeteroGraph& graph)>;

}  // namespace esper::tamiyo
