#include "tamiyo/network/folded_network.h"

#include <ATen/Functions.h>

#include <algorithm>

#include "tamiyo/network/bf16_products.h"

namespace esper::tamiyo {
namespace {

// A row of the output: heads without bounds, then those with (policy_params, schedule), then a score for each seed and
// each blueprint node, padding included.
constexpr int kPlainOutputs = kPolicyActions + kBlendingMethods + kRiskLevels + 1 + kBreakerStates;
constexpr int kBoundedOutputs = kPolicyParams + kScheduleParams;

// Rows of several node types.
struct Nodes {
  at::Tensor all;
  std::vector<NodeType> types;            // in `all`, ascending
  std::array<at::Tensor, kNodeTypes> of;  // the parts of `all`
};

Nodes split(const at::Tensor& all, const std::vector<NodeType>& types, const Caps& caps) {
  Nodes nodes{all, types, {}};
  std::int64_t row = 0;
  for (const NodeType type : types) {
    nodes.of[place_of(type)] = all.narrow(0, row, caps[place_of(type)]);
    row += caps[place_of(type)];
  }
  return nodes;
}

Nodes encode(const FoldedWeights& weights, const DenseGraph& graph) {
  std::vector<NodeType> types;
  for (const auto& [type, name] : names(NodeType{})) types.push_back(type);
  const at::Tensor linear = at::gelu(at::mm(graph.features(), weights.encoder));
  const at::Tensor normalised = at::layer_norm(linear, {kEncoderWidth}, {}, {}, kNormEps);
  // Each row's own type selects its factors; padding has none.
  const at::Tensor type_of_row = graph.features().narrow(1, kFeatureColumns, kNodeTypes);
  const at::Tensor factors = at::mm(type_of_row, weights.norm);
  return split(at::addmm(normalised * factors, type_of_row, weights.norm_bias), types, graph.caps());
}

// [rows, width before]: for each target and relation the mean of its sources, and then the target itself.
at::Tensor sage_rows(const FoldedLayer& folded, const DenseGraph& graph, const Nodes& x) {
  return aggregate(graph.means(), x.all, folded);
}

// [rows, kHeads, nodes]: the share of each source in what a target takes from a relation.
at::Tensor shares(const FoldedLayer& folded, int layer, const DenseGraph& graph, const Nodes& x) {
  const at::Tensor edges = graph.edge_scores(layer);
  const at::Tensor of_sources = at::mm(folded.source_attention, x.all.t()).view({-1, kHeads * edges.size(2)});
  const at::Tensor of_targets = at::mm(x.all, folded.target_attention).view({-1, kHeads});
  const at::Tensor scores = edges + of_sources.index_select(0, graph.relation_of_row(layer)).view(edges.sizes()) +
                            of_targets.index_select(0, graph.target_of_row(layer)).unsqueeze(2);
  // The factor is for rows without an edge: their scores are all alike, which would make it a mean of all nodes.
  return at::softmax(at::leaky_relu(scores, kNegativeSlope), -1) * graph.reached(layer);
}

// [rows * kHeads, width before]
at::Tensor gat_rows(const FoldedLayer& folded, int layer, const DenseGraph& graph, const Nodes& x) {
  return aggregate(shares(folded, layer, graph, x).view({-1, x.all.size(0)}), x.all, folded);
}

Nodes run_folded_layer(const FoldedLayer& folded, int layer, const DenseGraph& graph, const Nodes& x) {
  const at::Tensor rows = is_attention(layer) ? gat_rows(folded, layer, graph, x) : sage_rows(folded, graph, x);
  std::vector<NodeType> types;
  std::vector<at::Tensor> parts, before;
  std::int64_t row = 0;
  for (const FoldedTarget& target : folded.targets) {
    const std::int64_t nodes = graph.caps()[place_of(target.type)], inputs = target.inputs;
    const std::int64_t count = nodes * inputs / rows.size(1);
    parts.push_back(product(rows.narrow(0, row, count).view({nodes, inputs}), target));
    before.push_back(x.of[place_of(target.type)]);
    types.push_back(target.type);
    row += count;
  }
  at::Tensor y = at::gelu(at::cat(parts));
  if (width_before(layer) == width_after(layer)) y = y + (types == x.types ? x.all : at::cat(before));
  return split(y, types, graph.caps());
}

}  // namespace

at::Tensor make_output(const Caps& caps, c10::Device device) {
  const int scores = caps[place_of(NodeType::kSeed)] + caps[place_of(NodeType::kBlueprint)];
  return at::zeros({1, kPlainOutputs + kBoundedOutputs + scores}, at::TensorOptions(at::kFloat).device(device));
}

void run_folded(const FoldedWeights& weights, const DenseGraph& graph, const at::Tensor& output) {
  Nodes x = encode(weights, graph);
  for (int layer = 0; layer < kLayers; ++layer) {
    x = run_folded_layer(weights.layers[static_cast<std::size_t>(layer)], layer, graph, x);
  }
  const at::Tensor heads = at::addmm(weights.heads_bias, x.of[place_of(NodeType::kGlobal)], weights.heads);
  const at::Tensor hidden = at::gelu(heads.narrow(1, kPlainOutputs, 2 * kHiddenWidth));
  const at::Tensor bounded = at::tanh(at::addmm(weights.hidden_bias, hidden, weights.hidden));
  const at::Tensor seeds = at::addmm(weights.seed_bias, x.of[place_of(NodeType::kSeed)], weights.seed_scores);
  const at::Tensor blueprints =
      at::addmm(weights.blueprint_bias, x.of[place_of(NodeType::kBlueprint)], weights.blueprint_scores);
  output.copy_(at::cat({heads.narrow(1, 0, kPlainOutputs), bounded, seeds.t(), blueprints.t()}, 1));
}

PolicyOutputs read_output(const at::Tensor& output, const Caps& caps, int seeds, int blueprints) {
  const float* next = output.const_data_ptr<float>();
  const auto read = [&next](auto& values) {
    std::copy_n(next, values.size(), values.begin());
    next += values.size();
  };
  PolicyOutputs outputs;
  read(outputs.policy_logits);
  read(outputs.blending_logits);
  read(outputs.risk_logits);
  outputs.value = *next++;
  read(outputs.breaker_logits);
  read(outputs.policy_params);
  read(outputs.schedule);
  for (float& bound : outputs.schedule) bound = (bound + 1) / 2;
  std::ranges::sort(outputs.schedule);
  outputs.seed_scores.assign(next, next + seeds);
  next += caps[place_of(NodeType::kSeed)];
  outputs.blueprint_scores.assign(next, next + blueprints);
  return outputs;
}

}  // namespace esper::tamiyo
