#pragma once
// A graph in fixed shapes: the nodes of all types below each other, each type up to its cap, and a layer's edges as one
// matrix from them to its targets. All of it lies in one tensor, so that a program has one input for it; what the
// accessors return are views of that. Rows and edges that are not there have no effect on those that are. One thread at
// a time.

#include <array>
#include <vector>

#include "base/expected.h"
#include "tamiyo/network/caps.h"
#include "tamiyo/network/folded_weights.h"

namespace esper::tamiyo {

// A layer's targets have a row for each node and each relation into its type: node by node, and of a node relation by
// relation, in the order of FoldedLayer::targets. GraphSAGE has one more after them, for the node itself. The columns
// are the nodes of the types before the layer.
class DenseGraph {
 public:
  // On the weights' device. Fill before reading. Keeps the edge scores' vectors of the weights.
  DenseGraph(const FoldedWeights& weights, const Caps& caps);

  // Fails where a relation has an edge twice, which matrices cannot hold. graph: one that check_graph() accepts and the
  // caps fit. On a card the copy is queued on the current stream.
  base::Expected<void> fill(const HeteroGraph& graph);

  const Caps& caps() const { return caps_; }
  const at::Tensor& all() const { return all_; }

  // [nodes, kFeatureColumns + kNodeTypes], by NodeType
  at::Tensor features() const;
  // Of both GraphSAGE layers, [rows, nodes]: the shares of the sources in their mean, and 1 for the node itself.
  at::Tensor means() const;

  // Of a layer with attention.
  // [rows, kHeads, nodes]: what an edge's attributes add to its scores; very negative where there is no edge
  at::Tensor edge_scores(int layer) const;
  // [rows, 1, 1]: 1 for rows with an edge, else 0
  at::Tensor reached(int layer) const;
  // [rows], whole numbers: the place of the row's relation among those of the layer; that of its node and relation in
  // [nodes, relations]. The same for all graphs.
  const at::Tensor& relation_of_row(int layer) const { return attention(layer).relation_of_row; }
  const at::Tensor& target_of_row(int layer) const { return attention(layer).target_of_row; }

 private:
  // Where a relation's edges are: row first_row + target * row_step, column first_column + source.
  struct Part {
    std::int64_t first_row = 0, row_step = 0, first_column = 0;  // row_step 0: it is left out
  };
  struct Matrix {
    std::int64_t rows = 0, columns = 0;
    std::array<Part, kRelations> parts;
    std::array<Part, kNodeTypes> selves;  // of the targets' nodes themselves; the rows are those of GraphSAGE
    std::int64_t place = 0;               // in all_
  };
  struct Attention {
    Matrix matrix;
    std::int64_t reached = 0;  // in all_
    decltype(FoldedLayer::edge) edge;
    at::Tensor relation_of_row, target_of_row;
  };

  Matrix lay_out(const FoldedWeights& weights, int layer) const;
  void index_rows(const FoldedLayer& folded, Attention& attention) const;
  const Attention& attention(int layer) const { return attention_[static_cast<std::size_t>(layer - kSageLayers)]; }
  at::Tensor view(std::int64_t place, const std::vector<std::int64_t>& sizes) const;
  void fill_features(const HeteroGraph& graph);
  bool fill_means(const EdgeList& edges, std::size_t relation);
  void fill_selves();
  void fill_scores(const EdgeList& edges, std::size_t relation, const Attention& attention);

  Caps caps_;
  std::int64_t nodes_ = 0;
  Matrix means_;
  std::array<Attention, kLayers - kSageLayers> attention_;
  std::int64_t first_score_ = 0;  // all_ ends with the edge scores
  std::vector<float> sources_;    // number of sources of each target; of one relation at a time
  at::Tensor all_, host_;         // host_: what is filled; all_ itself on the CPU, else pinned memory, copied to it
};

}  // namespace esper::tamiyo
