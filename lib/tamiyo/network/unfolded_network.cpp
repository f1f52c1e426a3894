#include "tamiyo/network/unfolded_network.h"

#include <ATen/Functions.h>

#include <limits>

#include "tamiyo/network/network_sizes.h"
#include "tamiyo/network/tensor_names.h"

namespace esper::tamiyo {
namespace {

struct Edges {
  at::Tensor source, target;  // [edges] int64
  at::Tensor attributes;      // [edges, kEdgeFeatures]
};

// Nodes at both ends of a relation.
struct Ends {
  const at::Tensor& source;
  const at::Tensor& target;
};

at::Tensor copy_of(const std::vector<float>& values, std::int64_t columns) {
  const auto rows = static_cast<std::int64_t>(values.size()) / columns;
  return at::tensor(values, at::kFloat).view({rows, columns});
}

Edges edges_of(const EdgeList& list) {
  return {at::tensor(list.source, at::kLong), at::tensor(list.target, at::kLong),
          copy_of(list.attributes, kEdgeFeatures)};
}

at::Tensor linear(const Weights& weights, const std::string& name, const at::Tensor& x) {
  return at::linear(x, weights.at(name + ".weight"), weights.at(name + ".bias"));
}

at::Tensor encode_nodes(const Weights& weights, NodeType type, const NodeTable& table) {
  const std::string prefix = encoder_prefix(type);
  const at::Tensor x = copy_of(table.features, kNodeFeatures[static_cast<std::size_t>(type)]);
  return at::layer_norm(at::gelu(linear(weights, prefix + "0", x)), {kEncoderWidth}, weights.at(prefix + "2.weight"),
                        weights.at(prefix + "2.bias"), kNormEps);
}

at::Tensor sage(const Weights& weights, const std::string& prefix, const Ends& x, const Edges& edges) {
  const std::int64_t nodes = x.target.size(0);
  const at::Tensor sum = at::zeros({nodes, x.source.size(1)}, x.source.options())
                             .index_add(0, edges.target, x.source.index_select(0, edges.source));
  const at::Tensor count = at::bincount(edges.target, {}, nodes).clamp_min(1).unsqueeze(1);
  return linear(weights, prefix + "lin_l", sum / count) + at::linear(x.target, weights.at(prefix + "lin_r.weight"));
}

// Over the edges that end in the same node. scores: [edges, heads].
at::Tensor softmax_by_target(const at::Tensor& scores, const at::Tensor& target, std::int64_t nodes) {
  const at::Tensor places = target.unsqueeze(1).expand_as(scores);
  const at::Tensor largest = at::full({nodes, kHeads}, -std::numeric_limits<float>::infinity(), scores.options())
                                 .scatter_reduce(0, places, scores.detach(), "amax");
  const at::Tensor powers = (scores - largest.index_select(0, target)).exp();
  const at::Tensor sums = at::zeros({nodes, kHeads}, scores.options()).index_add(0, target, powers) + 1e-16;
  return powers / sums.index_select(0, target);
}

at::Tensor gat(const Weights& weights, const std::string& prefix, const Ends& x, const Edges& edges) {
  // [rows, heads, width]
  const auto projected = [&](const at::Tensor& rows, const char* name) {
    return at::linear(rows, weights.at(prefix + name)).view({rows.size(0), kHeads, kGatWidth});
  };
  const auto score = [&](const at::Tensor& rows, const char* name) {
    return (rows * weights.at(prefix + name)).sum(-1);
  };
  const at::Tensor messages = projected(x.source, "lin_src.weight");
  const at::Tensor of_source = score(messages, "att_src");
  const at::Tensor of_target = score(projected(x.target, "lin_dst.weight"), "att_dst");
  const at::Tensor of_edge = score(projected(edges.attributes, "lin_edge.weight"), "att_edge");
  const at::Tensor scores = at::leaky_relu(
      of_source.index_select(0, edges.source) + of_target.index_select(0, edges.target) + of_edge, kNegativeSlope);
  const std::int64_t nodes = x.target.size(0);
  const at::Tensor shares = softmax_by_target(scores, edges.target, nodes).unsqueeze(-1);
  const at::Tensor sum = at::zeros({nodes, kHeads, kGatWidth}, messages.options())
                             .index_add(0, edges.target, messages.index_select(0, edges.source) * shares);
  return sum.mean(1) + weights.at(prefix + "bias");
}

NodeTensors run_layer(const Weights& weights, int layer, const NodeTensors& x,
                      const std::array<Edges, kRelations>& edges) {
  std::array<std::vector<at::Tensor>, kNodeTypes> results;
  for (std::size_t i = 0; i < kRelations; ++i) {
    const auto target = static_cast<std::size_t>(kRelationTable[i].target);
    const Ends ends{x[static_cast<std::size_t>(kRelationTable[i].source)], x[target]};
    const std::string prefix = relation_prefix(layer, static_cast<int>(i));
    results[target].push_back((is_attention(layer) ? gat : sage)(weights, prefix, ends, edges[i]));
  }
  NodeTensors y;
  for (std::size_t type = 0; type < kNodeTypes; ++type) {
    y[type] = at::gelu(at::stack(results[type]).mean(0));
    if (y[type].sizes() == x[type].sizes()) y[type] = y[type] + x[type];
  }
  return y;
}

// graph: of one graph, or a row for each.
HeadTensors run_heads(const Weights& weights, const at::Tensor& graph, const NodeTensors& x) {
  const auto two_layers = [&](const std::string& name) {
    return at::tanh(linear(weights, name + ".2", at::gelu(linear(weights, name + ".0", graph))));
  };
  HeadTensors heads;
  heads.policy_logits = linear(weights, "policy_logits", graph);
  heads.policy_params = two_layers("policy_params");
  heads.blending_logits = linear(weights, "blending_logits", graph);
  heads.schedule = std::get<0>(at::sort((two_layers("schedule_params") + 1) / 2));
  heads.risk_logits = linear(weights, "risk_logits", graph);
  heads.value = linear(weights, "value", graph);
  heads.breaker_logits = linear(weights, "breaker_logits", graph);
  heads.seed_scores = linear(weights, "seed_scores", x[static_cast<std::size_t>(NodeType::kSeed)]).flatten();
  heads.blueprint_scores =
      linear(weights, "blueprint_scores", x[static_cast<std::size_t>(NodeType::kBlueprint)]).flatten();
  return heads;
}

// After the encoders, and after each layer.
std::vector<NodeTensors> run_stages(const Weights& weights, const HeteroGraph& graph) {
  std::array<Edges, kRelations> edges;
  for (std::size_t i = 0; i < kRelations; ++i) edges[i] = edges_of(graph.edges[i]);
  std::vector<NodeTensors> stages;
  NodeTensors x;
  for (const auto& [type, name] : names(NodeType{})) {
    const auto place = static_cast<std::size_t>(type);
    x[place] = encode_nodes(weights, type, graph.nodes[place]);
  }
  stages.push_back(x);
  for (int layer = 0; layer < kLayers; ++layer) stages.push_back(run_layer(weights, layer, stages.back(), edges));
  return stages;
}

const at::Tensor& globals_of(const NodeTensors& x) { return x[static_cast<std::size_t>(NodeType::kGlobal)]; }

}  // namespace

UnfoldedResult run_unfolded(const Weights& weights, const HeteroGraph& graph) {
  UnfoldedResult result;
  result.stages = run_stages(weights, graph);
  const NodeTensors& last = result.stages.back();
  result.heads = run_heads(weights, globals_of(last).mean(0), last);
  return result;
}

HeadTensors run_side_by_side(const Weights& weights, const HeteroGraph& graphs) {
  const NodeTensors last = run_stages(weights, graphs).back();
  return run_heads(weights, globals_of(last), last);
}

}  // namespace esper::tamiyo
