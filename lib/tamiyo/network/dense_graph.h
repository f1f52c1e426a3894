#pragma once
// A graph in fixed shapes: the nodes of all types below each other, each type up to its cap, and a layer's edges as one
// matrix from them to its targets (dense_layout.h). All of it lies in one tensor, so that a program has one input for
// it; what the accessors return are views of that. Rows and edges that are not there have no effect on those that are.
// One thread at a time.

#include <array>
#include <vector>

#include "base/expected.h"
#include "tamiyo/network/dense_layout.h"

namespace esper::tamiyo {

class DenseGraph {
 public:
  // On the weights' device. Fill before reading. Keeps the edge scores' vectors of the weights.
  DenseGraph(const FoldedWeights& weights, const Caps& caps);

  // Fails where a relation has an edge twice, which matrices cannot hold. graph: one that check_graph() accepts and the
  // caps fit. On a GPU the copy is queued on the current stream.
  base::Expected<void> fill(const HeteroGraph& graph);

  const Caps& caps() const { return layout_.caps; }
  const at::Tensor& all() const { return all_; }

  // [nodes, kNodeColumns], by NodeType
  at::Tensor features() const;
  // Of both GraphSAGE layers, [rows, nodes]: the shares of the sources in their mean, and 1 for the node itself.
  at::Tensor means() const;

  // Of a layer with attention.
  // [rows, kHeads, nodes]: what an edge's attributes add to its scores; very negative where there is no edge
  at::Tensor edge_scores(int layer) const;
  // [rows, 1, 1]: 1 for rows with an edge, else 0
  at::Tensor reached(int layer) const;
  // As in AttentionLayout: the same for all graphs.
  const at::Tensor& relation_of_row(int layer) const { return attention(layer).relation_of_row; }
  const at::Tensor& target_of_row(int layer) const { return attention(layer).target_of_row; }

 private:
  const AttentionLayout& attention(int layer) const {
    return layout_.attention[static_cast<std::size_t>(layer - kSageLayers)];
  }
  at::Tensor view(std::int64_t place, const std::vector<std::int64_t>& sizes) const;

  DenseLayout layout_;
  std::array<EdgeVectors, kLayers - kSageLayers> edge_vectors_;
  std::vector<float> sources_;  // number of sources of each target; of one relation at a time
  at::Tensor all_, host_;       // host_: what is filled; all_ itself on the CPU, else pinned memory, copied to it
};

}  // namespace esper::tamiyo
