#pragma once
// Where all of a graph in fixed shapes lies: the rows and columns of its matrices, and their places in the one tensor
// that holds them (dense_graph.h). The same for all graphs with these caps. Plain data; any thread.

#include <array>
#include <cstdint>

#include "tamiyo/network/caps.h"
#include "tamiyo/network/folded_weights.h"

namespace esper::tamiyo {

// Where a relation's edges are: row first_row + target * row_step, column first_column + source.
struct EdgePart {
  std::int64_t first_row = 0, row_step = 0, first_column = 0;  // row_step 0: it is left out
};

// A layer's edges. Its targets have a row for each node and each relation into its type: node by node, and of a node
// relation by relation, in the order of FoldedLayer::targets. GraphSAGE has one more after them, for the node itself.
// The columns are the nodes of the types before the layer.
struct EdgeMatrix {
  std::int64_t rows = 0, columns = 0;
  std::array<EdgePart, kRelations> parts;
  std::array<EdgePart, kNodeTypes> selves;  // of the targets' nodes themselves; the rows are those of GraphSAGE
  std::int64_t place = 0;                   // in the tensor
};

struct AttentionLayout {
  EdgeMatrix scores;         // of each head: [rows, kHeads, columns]
  std::int64_t reached = 0;  // place in the tensor of [rows]
  // [rows], whole numbers, on the weights' device: the place of the row's relation among those of the layer; that of
  // its node and relation in [nodes, relations]
  at::Tensor relation_of_row, target_of_row;
};

struct DenseLayout {
  Caps caps{};
  std::int64_t nodes = 0;  // of all types; the tensor begins with their features
  EdgeMatrix means{};      // of both GraphSAGE layers
  std::array<AttentionLayout, kLayers - kSageLayers> attention{};
  std::int64_t first_score = 0;  // the tensor ends with the scores
  std::int64_t size = 0;         // of the tensor
};

DenseLayout dense_layout(const FoldedWeights& weights, const Caps& caps);

}  // namespace esper::tamiyo
