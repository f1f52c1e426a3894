#pragma once
// A graph in fixed shapes: rows up to the caps, relations as matrices from their sources to their targets. All of it
// lies in one tensor, so that a program has one input for it; what the accessors return are views of that. Rows and
// edges that are not there have no effect on those that are. One thread at a time.

#include <vector>

#include "base/expected.h"
#include "tamiyo/network/caps.h"
#include "tamiyo/network/folded_weights.h"

namespace esper::tamiyo {

class DenseGraph {
 public:
  // Fill before reading. Keeps the edge scores' vectors of the weights.
  DenseGraph(const FoldedWeights& weights, const Caps& caps);

  // Fails where a relation has an edge twice, which matrices cannot hold. graph: one that check_graph() accepts and the
  // caps fit.
  base::Expected<void> fill(const HeteroGraph& graph);

  const Caps& caps() const { return caps_; }
  const at::Tensor& all() const { return all_; }

  // [rows of all types, kFeatureColumns + kNodeTypes], by NodeType
  at::Tensor features() const;
  // [target's cap, source's cap]: for each target the shares of its sources in their mean
  at::Tensor means(int relation) const;
  // [target's cap, kHeads, source's cap]: what an edge's attributes add to its scores; very negative where there is no
  // edge. Layer: one with attention, for which the relation is not left out.
  at::Tensor edge_scores(int layer, int relation) const;
  // [target's cap, 1, 1]: 1 for targets with an edge, else 0
  at::Tensor reached(int relation) const;

 private:
  struct Places {
    std::int64_t means = 0, reached = 0;
    std::array<std::int64_t, kLayers - kSageLayers> edge_scores{};  // 0: the relation is left out
  };
  // In all_, of this relation's ends.
  struct Ends {
    std::int64_t sources, targets;
  };

  Ends ends_of(int relation) const;
  at::Tensor view(std::int64_t place, const std::vector<std::int64_t>& sizes) const;
  void fill_features(const HeteroGraph& graph);
  bool fill_relation(const EdgeList& edges, int relation);
  void fill_scores(const EdgeList& edges, int layer, int relation);

  Caps caps_;
  std::array<decltype(FoldedLayer::edge), kLayers - kSageLayers> edge_vectors_;
  std::array<Places, kRelations> places_;
  std::int64_t rows_ = 0;
  std::int64_t first_score_ = 0;  // all_ ends with the edge scores
  at::Tensor all_;
};

}  // namespace esper::tamiyo
