#include "tamiyo/network/dense_graph.h"

#include <ATen/Functions.h>
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "tamiyo/network/tensor_names.h"

namespace esper::tamiyo {
namespace {

// So negative that its power is 0 beside any real score, and far from the range's end.
constexpr float kNoEdge = -1e30F;
constexpr int kColumns = kFeatureColumns + kNodeTypes;
constexpr std::int64_t kAlignment = 16;  // floats: 64 bytes, a cache line

std::size_t attention_place(int layer) { return static_cast<std::size_t>(layer - kSageLayers); }

// Hands out consecutive parts of a tensor.
class Allocation {
 public:
  std::int64_t take(std::int64_t numbers) {
    const std::int64_t place = size_;
    size_ += (numbers + kAlignment - 1) / kAlignment * kAlignment;
    return place;
  }
  std::int64_t size() const { return size_; }

 private:
  std::int64_t size_ = 0;
};

}  // namespace

DenseGraph::DenseGraph(const FoldedWeights& weights, const Caps& caps)
    : caps_(caps), rows_(std::accumulate(caps.begin(), caps.end(), std::int64_t{0})) {
  Allocation allocation;
  allocation.take(rows_ * kColumns);
  for (int relation = 0; relation < kRelations; ++relation) {
    Places& places = places_[static_cast<std::size_t>(relation)];
    const auto [sources, targets] = ends_of(relation);
    places.means = allocation.take(targets * sources);
    places.reached = allocation.take(targets);
  }
  first_score_ = allocation.size();
  for (int layer = kSageLayers; layer < kLayers; ++layer) {
    const FoldedLayer& folded = weights.layers[static_cast<std::size_t>(layer)];
    edge_vectors_[attention_place(layer)] = folded.edge;
    for (std::size_t relation = 0; relation < kRelations; ++relation) {
      if (folded.column[relation] < 0) continue;
      const auto [sources, targets] = ends_of(static_cast<int>(relation));
      places_[relation].edge_scores[attention_place(layer)] = allocation.take(targets * kHeads * sources);
    }
  }
  all_ = at::zeros({allocation.size()}, at::kFloat);
}

DenseGraph::Ends DenseGraph::ends_of(int relation) const {
  const Relation& r = kRelationTable[static_cast<std::size_t>(relation)];
  return {caps_[static_cast<std::size_t>(r.source)], caps_[static_cast<std::size_t>(r.target)]};
}

at::Tensor DenseGraph::view(std::int64_t place, const std::vector<std::int64_t>& sizes) const {
  const auto numbers = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies{});
  return all_.narrow(0, place, numbers).view(sizes);
}

at::Tensor DenseGraph::features() const { return view(0, {rows_, kColumns}); }

at::Tensor DenseGraph::means(int relation) const {
  const auto [sources, targets] = ends_of(relation);
  return view(places_[static_cast<std::size_t>(relation)].means, {targets, sources});
}

at::Tensor DenseGraph::edge_scores(int layer, int relation) const {
  const auto [sources, targets] = ends_of(relation);
  const Places& places = places_[static_cast<std::size_t>(relation)];
  return view(places.edge_scores[attention_place(layer)], {targets, kHeads, sources});
}

at::Tensor DenseGraph::reached(int relation) const {
  return view(places_[static_cast<std::size_t>(relation)].reached, {ends_of(relation).targets, 1, 1});
}

void DenseGraph::fill_features(const HeteroGraph& graph) {
  float* row = all_.mutable_data_ptr<float>();
  for (const auto& [type, name] : names(NodeType{})) {
    const auto place = static_cast<std::size_t>(type);
    const int features = kNodeFeatures[place];
    for (int node = 0; node < graph.nodes[place].count; ++node) {
      float* values = row + static_cast<std::ptrdiff_t>(node) * kColumns;
      std::copy_n(graph.nodes[place].features.data() + static_cast<std::ptrdiff_t>(node) * features, features,
                  values + first_feature(type));
      values[kFeatureColumns + static_cast<int>(type)] = 1;
    }
    row += static_cast<std::ptrdiff_t>(caps_[place]) * kColumns;
  }
}

// False: an edge is there twice.
bool DenseGraph::fill_relation(const EdgeList& edges, int relation) {
  const Places& places = places_[static_cast<std::size_t>(relation)];
  const std::int64_t sources = ends_of(relation).sources;
  float* means = all_.mutable_data_ptr<float>() + places.means;
  float* reached = all_.mutable_data_ptr<float>() + places.reached;
  for (const std::int32_t target : edges.target) reached[target] += 1;
  for (std::size_t i = 0; i < edges.source.size(); ++i) {
    float& mean = means[edges.target[i] * sources + edges.source[i]];
    if (mean != 0) return false;
    mean = 1 / reached[edges.target[i]];
  }
  for (const std::int32_t target : edges.target) reached[target] = 1;
  return true;
}

void DenseGraph::fill_scores(const EdgeList& edges, int layer, int relation) {
  const auto place = static_cast<std::size_t>(relation);
  const std::int64_t sources = ends_of(relation).sources;
  const auto& vectors = edge_vectors_[attention_place(layer)][place];
  const std::int64_t first = places_[place].edge_scores[attention_place(layer)];
  if (first == 0) return;
  float* scores = all_.mutable_data_ptr<float>() + first;
  for (std::size_t i = 0; i < edges.source.size(); ++i) {
    const float* attributes = edges.attributes.data() + i * kEdgeFeatures;
    float* score = scores + edges.target[i] * kHeads * sources + edges.source[i];
    for (std::size_t head = 0; head < kHeads; ++head, score += sources) {
      *score = std::inner_product(vectors[head].begin(), vectors[head].end(), attributes, 0.0F);
    }
  }
}

base::Expected<void> DenseGraph::fill(const HeteroGraph& graph) {
  float* values = all_.mutable_data_ptr<float>();
  std::fill(values, values + first_score_, 0.0F);
  std::fill(values + first_score_, values + all_.numel(), kNoEdge);
  fill_features(graph);
  for (int relation = 0; relation < kRelations; ++relation) {
    const EdgeList& edges = graph.edges[static_cast<std::size_t>(relation)];
    if (!fill_relation(edges, relation)) {
      return base::failure(fmt::format("graph: {} has the same edge twice", relation_key(relation)));
    }
    for (int layer = kSageLayers; layer < kLayers; ++layer) fill_scores(edges, layer, relation);
  }
  return {};
}

}  // namespace esper::tamiyo
