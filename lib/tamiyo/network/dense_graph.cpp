#include "tamiyo/network/dense_graph.h"

#include <ATen/Functions.h>
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "tamiyo/network/tensor_names.h"

namespace esper::tamiyo {
namespace {

// So negative that its power is 0 beside any real score, and far from the range's end.
constexpr float kNoEdge = -1e30F;
constexpr int kColumns = kFeatureColumns + kNodeTypes;
constexpr std::int64_t kAlignment = 16;  // floats: 64 bytes, a cache line

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

std::vector<NodeType> targets_of(const FoldedLayer& layer) {
  std::vector<NodeType> types;
  for (const FoldedTarget& target : layer.targets) types.push_back(target.type);
  return types;
}

std::vector<NodeType> types_before(const FoldedWeights& weights, int layer) {
  if (layer > 0) return targets_of(weights.layers[static_cast<std::size_t>(layer - 1)]);
  std::vector<NodeType> types;
  for (const auto& [type, name] : names(NodeType{})) types.push_back(type);
  return types;
}

// So that one matrix serves both GraphSAGE layers.
bool read_and_write_all_types(const FoldedWeights& weights) {
  return targets_of(weights.layers[0]) == types_before(weights, 0) &&
         targets_of(weights.layers[1]) == types_before(weights, 0);
}

}  // namespace

DenseGraph::DenseGraph(const FoldedWeights& weights, const Caps& caps)
    : caps_(caps),
      nodes_(std::accumulate(caps.begin(), caps.end(), std::int64_t{0})),
      means_(lay_out(weights, 0)),
      sources_(static_cast<std::size_t>(std::ranges::max(caps))) {
  ESPER_CHECK(read_and_write_all_types(weights), "both GraphSAGE layers have the same rows and columns");
  Allocation allocation;
  allocation.take(nodes_ * kColumns);
  means_.place = allocation.take(means_.rows * means_.columns);
  for (int layer = kSageLayers; layer < kLayers; ++layer) {
    const FoldedLayer& folded = weights.layers[static_cast<std::size_t>(layer)];
    Attention& attention = attention_[static_cast<std::size_t>(layer - kSageLayers)];
    attention.matrix = lay_out(weights, layer);
    attention.edge = folded.edge;
    attention.reached = allocation.take(attention.matrix.rows);
    index_rows(folded, attention);
    attention.relation_of_row = attention.relation_of_row.to(weights.device());
    attention.target_of_row = attention.target_of_row.to(weights.device());
  }
  first_score_ = allocation.size();
  for (Attention& attention : attention_) {
    attention.matrix.place = allocation.take(attention.matrix.rows * kHeads * attention.matrix.columns);
  }
  const auto options = at::TensorOptions(at::kFloat);
  all_ = at::zeros({allocation.size()}, options.device(weights.device()));
  host_ = all_.is_cpu() ? all_ : at::zeros({allocation.size()}, options.pinned_memory(true));
}

DenseGraph::Matrix DenseGraph::lay_out(const FoldedWeights& weights, int layer) const {
  Matrix matrix;
  std::array<std::int64_t, kNodeTypes> first_column{};
  for (const NodeType type : types_before(weights, layer)) {
    first_column[place_of(type)] = matrix.columns;
    matrix.columns += caps_[place_of(type)];
  }
  for (const FoldedTarget& target : weights.layers[static_cast<std::size_t>(layer)].targets) {
    const auto relations = static_cast<std::int64_t>(target.relations.size());
    const std::int64_t step = relations + (is_attention(layer) ? 0 : 1);
    for (std::int64_t i = 0; i < relations; ++i) {
      const auto relation = static_cast<std::size_t>(target.relations[static_cast<std::size_t>(i)]);
      const std::int64_t column = first_column[place_of(kRelationTable[relation].source)];
      matrix.parts[relation] = {matrix.rows + i, step, column};
    }
    matrix.selves[place_of(target.type)] = {matrix.rows + relations, step, first_column[place_of(target.type)]};
    matrix.rows += caps_[place_of(target.type)] * step;
  }
  return matrix;
}

void DenseGraph::index_rows(const FoldedLayer& folded, Attention& attention) const {
  std::int64_t relations = 0, relation = 0;
  for (const FoldedTarget& target : folded.targets) relations += static_cast<std::int64_t>(target.relations.size());
  attention.relation_of_row = at::zeros({attention.matrix.rows}, at::kLong);
  attention.target_of_row = at::zeros({attention.matrix.rows}, at::kLong);
  auto* of_row = attention.relation_of_row.mutable_data_ptr<std::int64_t>();
  auto* target_of_row = attention.target_of_row.mutable_data_ptr<std::int64_t>();
  for (const FoldedTarget& target : folded.targets) {
    const std::int64_t first_node = attention.matrix.selves[place_of(target.type)].first_column;
    for (const int one : target.relations) {
      const Part& part = attention.matrix.parts[static_cast<std::size_t>(one)];
      for (std::int64_t node = 0; node < caps_[place_of(target.type)]; ++node) {
        of_row[part.first_row + node * part.row_step] = relation;
        target_of_row[part.first_row + node * part.row_step] = (first_node + node) * relations + relation;
      }
      ++relation;
    }
  }
}

at::Tensor DenseGraph::view(std::int64_t place, const std::vector<std::int64_t>& sizes) const {
  const auto numbers = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies{});
  return all_.narrow(0, place, numbers).view(sizes);
}

at::Tensor DenseGraph::features() const { return view(0, {nodes_, kColumns}); }

at::Tensor DenseGraph::means() const { return view(means_.place, {means_.rows, means_.columns}); }

at::Tensor DenseGraph::edge_scores(int layer) const {
  const Matrix& matrix = attention(layer).matrix;
  return view(matrix.place, {matrix.rows, kHeads, matrix.columns});
}

at::Tensor DenseGraph::reached(int layer) const {
  return view(attention(layer).reached, {attention(layer).matrix.rows, 1, 1});
}

void DenseGraph::fill_features(const HeteroGraph& graph) {
  float* row = host_.mutable_data_ptr<float>();
  for (const auto& [type, name] : names(NodeType{})) {
    const std::size_t place = place_of(type);
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
bool DenseGraph::fill_means(const EdgeList& edges, std::size_t relation) {
  const Part& part = means_.parts[relation];
  float* means = host_.mutable_data_ptr<float>() + means_.place;
  std::ranges::fill(sources_, 0.0F);
  for (const std::int32_t target : edges.target) sources_[static_cast<std::size_t>(target)] += 1;
  for (std::size_t i = 0; i < edges.source.size(); ++i) {
    const std::int64_t row = part.first_row + edges.target[i] * part.row_step;
    float& mean = means[row * means_.columns + part.first_column + edges.source[i]];
    if (mean != 0) return false;
    mean = 1 / sources_[static_cast<std::size_t>(edges.target[i])];
  }
  return true;
}

void DenseGraph::fill_selves() {
  float* means = host_.mutable_data_ptr<float>() + means_.place;
  for (std::size_t type = 0; type < kNodeTypes; ++type) {
    const Part& self = means_.selves[type];
    for (std::int64_t node = 0; node < caps_[type]; ++node) {
      means[(self.first_row + node * self.row_step) * means_.columns + self.first_column + node] = 1;
    }
  }
}

void DenseGraph::fill_scores(const EdgeList& edges, std::size_t relation, const Attention& attention) {
  const Matrix& matrix = attention.matrix;
  const Part& part = matrix.parts[relation];
  if (part.row_step == 0) return;
  float* reached = host_.mutable_data_ptr<float>() + attention.reached;
  float* scores = host_.mutable_data_ptr<float>() + matrix.place;
  for (std::size_t i = 0; i < edges.source.size(); ++i) {
    const std::int64_t row = part.first_row + edges.target[i] * part.row_step;
    reached[row] = 1;
    const float* attributes = edges.attributes.data() + i * kEdgeFeatures;
    float* score = scores + row * kHeads * matrix.columns + part.first_column + edges.source[i];
    for (std::size_t head = 0; head < kHeads; ++head, score += matrix.columns) {
      const auto& vector = attention.edge[relation][head];
      *score = std::inner_product(vector.begin(), vector.end(), attributes, 0.0F);
    }
  }
}

base::Expected<void> DenseGraph::fill(const HeteroGraph& graph) {
  float* values = host_.mutable_data_ptr<float>();
  std::fill(values, values + first_score_, 0.0F);
  std::fill(values + first_score_, values + host_.numel(), kNoEdge);
  fill_features(graph);
  fill_selves();
  for (std::size_t relation = 0; relation < kRelations; ++relation) {
    const EdgeList& edges = graph.edges[relation];
    if (!fill_means(edges, relation)) {
      return base::failure(fmt::format("graph: {} has the same edge twice", relation_key(static_cast<int>(relation))));
    }
    for (const Attention& attention : attention_) fill_scores(edges, relation, attention);
  }
  if (!all_.is_cpu()) all_.copy_(host_, /*non_blocking=*/true);
  return {};
}

}  // namespace esper::tamiyo
