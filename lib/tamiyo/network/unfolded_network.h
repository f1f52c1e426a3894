#pragma once
// The network as PyTorch Geometric computes it in evaluation mode, operation by operation:
//
//   encoder of each node type   LayerNorm(GELU(Linear(features)))
//   layers 0, 1                 HeteroConv(SAGEConv, mean over the relations into a type): W_l mean(x_j) + b + W_r x_i
//   layers 2, 3                 HeteroConv(GATConv, mean over the relations): four heads averaged, edge attributes in
//                               the scores, no self loops
//   after each layer            GELU, plus its input where the shapes agree
//   heads                       of the mean of the global nodes; scores of each seed and blueprint node
//
// A relation without edges counts in the mean over relations, with what its biases and root weights give. Slow and
// plain: what folded_network.h has to agree with, and the form that has gradients.
//
// Sources: Hamilton et al. 2017 (GraphSAGE), Velickovic et al. 2018 (GAT). Any thread.

#include <array>
#include <vector>

#include "tamiyo/graph/hetero_graph.h"
#include "tamiyo/network/head_tensors.h"
#include "tamiyo/network/weights.h"

namespace esper::tamiyo {

using NodeTensors = std::array<at::Tensor, kNodeTypes>;  // by NodeType: [nodes, width]

struct UnfoldedResult {
  std::vector<NodeTensors> stages;  // after the encoders, and after each layer
  HeadTensors heads;
};

// graph: one that check_graph() accepts.
UnfoldedResult run_unfolded(const Weights& weights, const HeteroGraph& graph);

// Several graphs as one, without an edge between them. The heads have a row for each of its global nodes; seed and
// blueprint scores are of all nodes.
HeadTensors run_side_by_side(const Weights& weights, const HeteroGraph& graphs);

}  // namespace esper::tamiyo
