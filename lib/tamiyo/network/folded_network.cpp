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

std::size_t place_of(NodeType type) { return static_cast<std::size_t>(type); }

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
  const Nodes linear = split(at::gelu(at::mm(graph.features(), weights.encoder)), types, graph.caps());
  std::vector<at::Tensor> parts;
  for (const NodeType type : types) {
    const std::size_t place = place_of(type);
    parts.push_back(
        at::layer_norm(linear.of[place], {kEncoderWidth}, weights.norm[place], weights.norm_bias[place], kNormEps));
  }
  return split(at::cat(parts), types, graph.caps());
}

// [target's cap, inputs of its weight]
at::Tensor sage_rows(const FoldedTarget& target, const DenseGraph& graph, const Nodes& x) {
  std::vector<at::Tensor> parts;
  for (const int relation : target.relations) {
    const NodeType source = kRelationTable[static_cast<std::size_t>(relation)].source;
    parts.push_back(at::mm(graph.means(relation), x.of[place_of(source)]));
  }
  parts.push_back(x.of[place_of(target.type)]);
  return at::cat(parts, 1);
}

// One GAT layer's inputs.
struct Attention {
  int layer;
  const FoldedLayer& folded;
  const DenseGraph& graph;
  const Nodes& x;
  Nodes scores;  // of each node in each relation and head, by FoldedLayer::column
};

// [target's cap, kHeads * width]: the sources of each target, weighted by its attention to them.
at::Tensor attend(const Attention& attention, int relation) {
  const Relation& r = kRelationTable[static_cast<std::size_t>(relation)];
  const int column = attention.folded.column[static_cast<std::size_t>(relation)];
  const at::Tensor of_source = attention.scores.of[place_of(r.source)].narrow(1, column, kHeads);
  const at::Tensor of_target = attention.scores.of[place_of(r.target)].narrow(1, column + kHeads, kHeads);
  const at::Tensor scores =
      attention.graph.edge_scores(attention.layer, relation) + of_target.unsqueeze(2) + of_source.t().unsqueeze(0);
  // The factor is for targets without an edge: their scores are all alike, which would make it a mean of all sources.
  const at::Tensor shares = at::softmax(at::leaky_relu(scores, kNegativeSlope), -1) * attention.graph.reached(relation);
  const at::Tensor& sources = attention.x.of[place_of(r.source)];
  return at::mm(shares.view({-1, sources.size(0)}), sources).view({shares.size(0), kHeads * sources.size(1)});
}

// [target's cap, inputs of its weight]
at::Tensor gat_rows(const FoldedTarget& target, const Attention& attention) {
  std::vector<at::Tensor> parts;
  for (const int relation : target.relations) parts.push_back(attend(attention, relation));
  return at::cat(parts, 1);
}

std::vector<at::Tensor> rows_by_target(const FoldedLayer& folded, int layer, const DenseGraph& graph, const Nodes& x) {
  std::vector<at::Tensor> rows;
  if (is_attention(layer)) {
    const Attention attention{layer, folded, graph, x, split(at::mm(x.all, folded.attention), x.types, graph.caps())};
    for (const FoldedTarget& target : folded.targets) rows.push_back(gat_rows(target, attention));
  } else {
    for (const FoldedTarget& target : folded.targets) rows.push_back(sage_rows(target, graph, x));
  }
  return rows;
}

Nodes run_folded_layer(const FoldedLayer& folded, int layer, const DenseGraph& graph, const Nodes& x) {
  const std::vector<at::Tensor> rows = rows_by_target(folded, layer, graph, x);
  std::vector<NodeType> types;
  std::vector<at::Tensor> parts, before;
  for (std::size_t i = 0; i < folded.targets.size(); ++i) {
    const FoldedTarget& target = folded.targets[i];
    types.push_back(target.type);
    parts.push_back(product(rows[i], target));
    before.push_back(x.of[place_of(target.type)]);
  }
  at::Tensor y = at::gelu(at::cat(parts));
  if (width_before(layer) == width_after(layer)) y = y + (types == x.types ? x.all : at::cat(before));
  return split(y, types, graph.caps());
}

}  // namespace

at::Tensor make_output(const Caps& caps) {
  const int scores = caps[place_of(NodeType::kSeed)] + caps[place_of(NodeType::kBlueprint)];
  return at::zeros({1, kPlainOutputs + kBoundedOutputs + scores}, at::kFloat);
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
