#include "tamiyo/network/dense_layout.h"

#include <ATen/Functions.h>

#include <numeric>
#include <vector>

#include "base/error.h"
#include "tamiyo/network/tensor_names.h"

namespace esper::tamiyo {
namespace {

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

EdgeMatrix edge_matrix(const FoldedWeights& weights, int layer, const Caps& caps) {
  EdgeMatrix matrix;
  std::array<std::int64_t, kNodeTypes> first_column{};
  for (const NodeType type : types_before(weights, layer)) {
    first_column[place_of(type)] = matrix.columns;
    matrix.columns += caps[place_of(type)];
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
    matrix.rows += caps[place_of(target.type)] * step;
  }
  return matrix;
}

void index_rows(const FoldedLayer& folded, const Caps& caps, c10::Device device, AttentionLayout& layout) {
  std::int64_t relations = 0, relation = 0;
  for (const FoldedTarget& target : folded.targets) relations += static_cast<std::int64_t>(target.relations.size());
  at::Tensor relation_of_row = at::zeros({layout.scores.rows}, at::kLong);
  at::Tensor target_of_row = at::zeros({layout.scores.rows}, at::kLong);
  auto* relations_out = relation_of_row.mutable_data_ptr<std::int64_t>();
  auto* targets_out = target_of_row.mutable_data_ptr<std::int64_t>();
  for (const FoldedTarget& target : folded.targets) {
    const std::int64_t first_node = layout.scores.selves[place_of(target.type)].first_column;
    for (const int one : target.relations) {
      const EdgePart& part = layout.scores.parts[static_cast<std::size_t>(one)];
      for (std::int64_t node = 0; node < caps[place_of(target.type)]; ++node) {
        relations_out[part.first_row + node * part.row_step] = relation;
        targets_out[part.first_row + node * part.row_step] = (first_node + node) * relations + relation;
      }
      ++relation;
    }
  }
  layout.relation_of_row = relation_of_row.to(device);
  layout.target_of_row = target_of_row.to(device);
}

}  // namespace

DenseLayout dense_layout(const FoldedWeights& weights, const Caps& caps) {
  ESPER_CHECK(read_and_write_all_types(weights), "both GraphSAGE layers have the same rows and columns");
  DenseLayout layout{.caps = caps,
                     .nodes = std::accumulate(caps.begin(), caps.end(), std::int64_t{0}),
                     .means = edge_matrix(weights, 0, caps)};
  Allocation allocation;
  allocation.take(layout.nodes * kNodeColumns);
  layout.means.place = allocation.take(layout.means.rows * layout.means.columns);
  for (int layer = kSageLayers; layer < kLayers; ++layer) {
    AttentionLayout& attention = layout.attention[static_cast<std::size_t>(layer - kSageLayers)];
    attention.scores = edge_matrix(weights, layer, caps);
    attention.reached = allocation.take(attention.scores.rows);
    index_rows(weights.layers[static_cast<std::size_t>(layer)], caps, weights.device(), attention);
  }
  layout.first_score = allocation.size();
  for (AttentionLayout& attention : layout.attention) {
    attention.scores.place = allocation.take(attention.scores.rows * kHeads * attention.scores.columns);
  }
  layout.size = allocation.size();
  return layout;
}

}  // namespace esper::tamiyo
