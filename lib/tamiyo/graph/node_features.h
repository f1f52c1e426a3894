#pragma once
// The numbers of a graph's nodes: read, sampled for the normaliser, scaled. Any thread.

#include <array>
#include <vector>

#include "tamiyo/graph/coverage.h"
#include "tamiyo/graph/graph_nodes.h"
#include "tamiyo/graph/hetero_graph.h"
#include "tamiyo/graph/normaliser.h"

namespace esper::tamiyo {

// By NodeType: [nodes, features_of(type)], row by row, transformed and not yet normalised; kAbsent where there is none.
using FeatureValues = std::array<std::vector<double>, kNodeTypes>;

// Replaces `values`, and reuses its memory. Values beyond +-1e9 count as that much.
void read_features(const GraphNodes& nodes, FeatureValues& values);

// What the normaliser takes of them.
Samples samples_of(const FeatureValues& values);

// The nodes' columns, and what of them is there.
void scale_features(const FeatureValues& values, const Normaliser& normaliser, HeteroGraph& graph, Coverage& coverage);

}  // namespace esper::tamiyo
