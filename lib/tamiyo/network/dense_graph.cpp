#include "tamiyo/network/dense_graph.h"

#include <ATen/Functions.h>
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "device/pinned_memory.h"
#include "tamiyo/network/tensor_names.h"

namespace esper::tamiyo {
namespace {

// So negative that its power is 0 beside any real score, and far from the range's end.
constexpr float kNoEdge = -1e30F;

// The functions below fill parts of the tensor, which begins at `all`.

void fill_features(const HeteroGraph& graph, const Caps& caps, float* all) {
  float* row = all;
  for (const auto& [type, name] : names(NodeType{})) {
    const std::size_t place = place_of(type);
    const int features = kNodeFeatures[place];
    for (int node = 0; node < graph.nodes[place].count; ++node) {
      float* values = row + static_cast<std::ptrdiff_t>(node) * kNodeColumns;
      std::copy_n(graph.nodes[place].features.data() + static_cast<std::ptrdiff_t>(node) * features, features,
                  values + first_feature(type));
      values[kFeatureColumns + static_cast<int>(type)] = 1;
    }
    row += static_cast<std::ptrdiff_t>(caps[place]) * kNodeColumns;
  }
}

void fill_selves(const EdgeMatrix& matrix, const Caps& caps, float* all) {
  float* means = all + matrix.place;
  for (std::size_t type = 0; type < kNodeTypes; ++type) {
    const EdgePart& self = matrix.selves[type];
    for (std::int64_t node = 0; node < caps[type]; ++node) {
      means[(self.first_row + node * self.row_step) * matrix.columns + self.first_column + node] = 1;
    }
  }
}

// False: an edge is there twice. sources: scratch, a number for each target.
bool fill_means(const EdgeList& edges, std::size_t relation, const EdgeMatrix& matrix, std::vector<float>& sources,
                float* all) {
  const EdgePart& part = matrix.parts[relation];
  float* means = all + matrix.place;
  std::ranges::fill(sources, 0.0F);
  for (const std::int32_t target : edges.target) sources[static_cast<std::size_t>(target)] += 1;
  for (std::size_t i = 0; i < edges.source.size(); ++i) {
    const std::int64_t row = part.first_row + edges.target[i] * part.row_step;
    float& mean = means[row * matrix.columns + part.first_column + edges.source[i]];
    if (mean != 0) return false;
    mean = 1 / sources[static_cast<std::size_t>(edges.target[i])];
  }
  return true;
}

void fill_scores(const EdgeList& edges, std::size_t relation, const AttentionLayout& layout, const EdgeVectors& vectors,
                 float* all) {
  const EdgeMatrix& matrix = layout.scores;
  const EdgePart& part = matrix.parts[relation];
  if (part.row_step == 0) return;
  float* reached = all + layout.reached;
  float* scores = all + matrix.place;
  for (std::size_t i = 0; i < edges.source.size(); ++i) {
    const std::int64_t row = part.first_row + edges.target[i] * part.row_step;
    reached[row] = 1;
    const float* attributes = edges.attributes.data() + i * kEdgeFeatures;
    float* score = scores + row * kHeads * matrix.columns + part.first_column + edges.source[i];
    for (std::size_t head = 0; head < kHeads; ++head, score += matrix.columns) {
      const auto& vector = vectors[relation][head];
      *score = std::inner_product(vector.begin(), vector.end(), attributes, 0.0F);
    }
  }
}

}  // namespace

DenseGraph::DenseGraph(const FoldedWeights& weights, const Caps& caps)
    : layout_(dense_layout(weights, caps)), sources_(static_cast<std::size_t>(std::ranges::max(caps))) {
  std::ranges::transform(weights.layers.begin() + kSageLayers, weights.layers.end(), edge_vectors_.begin(),
                         &FoldedLayer::edge);
  all_ = at::zeros({layout_.size}, at::TensorOptions(at::kFloat).device(weights.device()));
  host_ = all_.is_cpu() ? all_ : device::empty_pinned({layout_.size}, at::kFloat).zero_();
}

at::Tensor DenseGraph::view(std::int64_t place, const std::vector<std::int64_t>& sizes) const {
  const auto numbers = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies{});
  return all_.narrow(0, place, numbers).view(sizes);
}

at::Tensor DenseGraph::features() const { return view(0, {layout_.nodes, kNodeColumns}); }

at::Tensor DenseGraph::means() const {
  const EdgeMatrix& matrix = layout_.means;
  return view(matrix.place, {matrix.rows, matrix.columns});
}

at::Tensor DenseGraph::edge_scores(int layer) const {
  const EdgeMatrix& matrix = attention(layer).scores;
  return view(matrix.place, {matrix.rows, kHeads, matrix.columns});
}

at::Tensor DenseGraph::reached(int layer) const {
  return view(attention(layer).reached, {attention(layer).scores.rows, 1, 1});
}

base::Expected<void> DenseGraph::fill(const HeteroGraph& graph) {
  float* all = host_.mutable_data_ptr<float>();
  std::fill(all, all + layout_.first_score, 0.0F);
  std::fill(all + layout_.first_score, all + layout_.size, kNoEdge);
  fill_features(graph, layout_.caps, all);
  fill_selves(layout_.means, layout_.caps, all);
  for (std::size_t relation = 0; relation < kRelations; ++relation) {
    const EdgeList& edges = graph.edges[relation];
    if (!fill_means(edges, relation, layout_.means, sources_, all)) {
      return base::failure(fmt::format("graph: {} has the same edge twice", relation_key(static_cast<int>(relation))));
    }
    for (std::size_t i = 0; i < edge_vectors_.size(); ++i) {
      fill_scores(edges, relation, layout_.attention[i], edge_vectors_[i], all);
    }
  }
  if (!all_.is_cpu()) all_.copy_(host_, /*non_blocking=*/true);
  return {};
}

}  // namespace esper::tamiyo
