#pragma once
// The weights as inference needs them: what is constant between two calls is computed once.
//
// - The relations into one node type become one matrix: y_i = [mean_1(x), mean_2(x), ..., x_i] W + b for GraphSAGE
//   with the relations' root weights averaged, and y_i = [sum_1,1(a x), sum_1,2(a x), ...] W + b for GAT, by relation
//   and head. Nodes are aggregated before the weight is applied, which is linear.
// - A GAT score is one dot product for each end of an edge and one for its attributes: the attention vectors are
//   multiplied into the projections.
// - What reaches no head is left out: 4 of the 21 relations in the first GAT layer, 11 in the second.
// - The encoders become one matrix, and so do all heads of the graph.
//
// 6.5 of 14 million numbers remain, 26 MB. Folding is done in double precision. Any thread.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tamiyo/graph/hetero_graph.h"
#include "tamiyo/network/network_sizes.h"
#include "tamiyo/network/weights.h"

namespace esper::tamiyo {

inline constexpr int kFeatureColumns = 74;  // of all node types
// A node's row: the features of all types, then a column for each type, which is 1 for the node's own.
inline constexpr int kNodeColumns = kFeatureColumns + kNodeTypes;

// The first column of a node type's features.
constexpr int first_feature(NodeType type) {
  int first = 0;
  for (int i = 0; i < static_cast<int>(type); ++i) first += kNodeFeatures[static_cast<std::size_t>(i)];
  return first;
}

struct FoldedTarget {
  NodeType type = NodeType::kGlobal;
  std::vector<int> relations;  // in the order of their parts
  std::int64_t inputs = 0;     // parts * width before
  at::Tensor weight;           // [inputs, width after]
  at::Tensor bias;             // [width after]
  // In place of `weight` where products are computed in bf16: packed by oneDNN, without strides (bf16_products.h).
  at::Tensor packed, packed_bias;
};

// The factors of an edge's attributes in its scores, by place in kRelationTable and by head.
using EdgeVectors = std::array<std::array<std::array<float, kEdgeFeatures>, kHeads>, kRelations>;

struct FoldedLayer {
  std::vector<FoldedTarget> targets;  // those that a head depends on, by NodeType
  // GAT alone; heads of a relation beside each other, relations in the order of `targets`:
  at::Tensor source_attention;  // [kHeads * relations, width before]
  at::Tensor target_attention;  // [width before, kHeads * relations]
  EdgeVectors edge{};
};

struct FoldedWeights {
  at::Tensor encoder;          // [kNodeColumns, kEncoderWidth]
  at::Tensor norm, norm_bias;  // [kNodeTypes, kEncoderWidth]
  std::array<FoldedLayer, kLayers> layers;
  at::Tensor heads, heads_bias;    // [kGatWidth, heads without bounds and hidden layers of the others]
  at::Tensor hidden, hidden_bias;  // [2 * kHiddenWidth, heads with bounds]
  at::Tensor seed_scores, seed_bias, blueprint_scores, blueprint_bias;  // [kGatWidth, 1], [1]
  c10::ScalarType autocast = c10::ScalarType::Float;                    // of the products on a GPU; Float: none

  c10::Device device() const { return encoder.device(); }
};

FoldedWeights fold(const Weights& weights);

// The same on another device.
FoldedWeights on_device(FoldedWeights weights, c10::Device device);

// Every tensor, with a name: "layer0.seed.weight".
std::vector<std::pair<std::string, at::Tensor>> named_tensors(const FoldedWeights& weights);

}  // namespace esper::tamiyo
