#include "tamiyo/network/folded_weights.h"

#include <ATen/Functions.h>
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/names.h"
#include "tamiyo/network/tensor_names.h"

namespace esper::tamiyo {
namespace {

using Types = std::set<NodeType>;

// Weights in double precision, of which sums and products are rounded once, by `stored`.
class Source {
 public:
  explicit Source(const Weights& weights) : weights_(weights) {}
  at::Tensor operator()(const std::string& name) const { return weights_.at(name).detach().to(at::kDouble); }

 private:
  const Weights& weights_;
};

at::Tensor stored(const at::Tensor& tensor) { return tensor.to(at::kFloat).contiguous(); }

std::vector<int> relations_into(NodeType type) {
  std::vector<int> relations;
  for (int i = 0; i < kRelations; ++i) {
    if (kRelationTable[static_cast<std::size_t>(i)].target == type) relations.push_back(i);
  }
  return relations;
}

Types sources_of(const Types& targets) {
  Types types = targets;
  for (const Relation& relation : kRelationTable) {
    if (targets.contains(relation.target)) types.insert(relation.source);
  }
  return types;
}

// The node types that are read after each layer.
std::array<Types, kLayers> types_after() {
  std::array<Types, kLayers> after;
  Types types = {NodeType::kGlobal, NodeType::kSeed, NodeType::kBlueprint};
  for (std::size_t layer = kLayers; layer-- > 0;) {
    after[layer] = types;
    types = sources_of(types);
  }
  return after;
}

FoldedTarget fold_sage(const Source& weights, int layer, NodeType type) {
  FoldedTarget target;
  target.type = type;
  target.relations = relations_into(type);
  const auto count = static_cast<double>(target.relations.size());
  std::vector<at::Tensor> parts;
  at::Tensor root = at::zeros({width_before(layer), kSageWidth}, at::kDouble),
             bias = at::zeros({kSageWidth}, at::kDouble);
  for (const int relation : target.relations) {
    const std::string prefix = relation_prefix(layer, relation);
    parts.push_back(weights(prefix + "lin_l.weight").t() / count);
    root += weights(prefix + "lin_r.weight").t() / count;
    bias += weights(prefix + "lin_l.bias") / count;
  }
  parts.push_back(root);
  target.weight = stored(at::cat(parts));
  target.inputs = target.weight.size(0);
  target.bias = stored(bias);
  return target;
}

// [heads, width after, columns]
at::Tensor by_head(const at::Tensor& projection) { return projection.view({kHeads, kGatWidth, projection.size(1)}); }

FoldedTarget fold_gat(const Source& weights, int layer, NodeType type) {
  FoldedTarget target;
  target.type = type;
  target.relations = relations_into(type);
  const auto count = static_cast<double>(target.relations.size());
  std::vector<at::Tensor> parts;
  at::Tensor bias = at::zeros({kGatWidth}, at::kDouble);
  for (const int relation : target.relations) {
    const std::string prefix = relation_prefix(layer, relation);
    const at::Tensor projection = by_head(weights(prefix + "lin_src.weight")).transpose(1, 2);
    parts.push_back(projection.reshape({kHeads * width_before(layer), kGatWidth}) / (count * kHeads));
    bias += weights(prefix + "bias") / count;
  }
  target.weight = stored(at::cat(parts));
  target.inputs = target.weight.size(0);
  target.bias = stored(bias);
  return target;
}

// [heads, columns]: what a score is of the rows that the projection takes.
at::Tensor score_vectors(const Source& weights, const std::string& projection, const std::string& attention) {
  return (by_head(weights(projection)) * weights(attention).view({kHeads, kGatWidth, 1})).sum(1);
}

void fold_scores(const Source& weights, int layer, FoldedLayer& folded) {
  std::vector<at::Tensor> of_source, of_target;
  for (const FoldedTarget& target : folded.targets) {
    for (const int relation : target.relations) {
      const std::string prefix = relation_prefix(layer, relation);
      of_source.push_back(score_vectors(weights, prefix + "lin_src.weight", prefix + "att_src"));
      of_target.push_back(score_vectors(weights, prefix + "lin_dst.weight", prefix + "att_dst"));
      const at::Tensor edge = stored(score_vectors(weights, prefix + "lin_edge.weight", prefix + "att_edge"));
      std::copy_n(edge.const_data_ptr<float>(), edge.numel(),
                  folded.edge[static_cast<std::size_t>(relation)].front().data());
    }
  }
  folded.source_attention = stored(at::cat(of_source));
  folded.target_attention = stored(at::cat(of_target).t());
}

FoldedLayer fold_layer(const Source& weights, int layer, const Types& types) {
  FoldedLayer folded;
  for (const NodeType type : types) {
    folded.targets.push_back((is_attention(layer) ? fold_gat : fold_sage)(weights, layer, type));
  }
  if (is_attention(layer)) fold_scores(weights, layer, folded);
  return folded;
}

void fold_encoders(const Source& weights, FoldedWeights& folded) {
  at::Tensor encoder = at::zeros({kNodeColumns, kEncoderWidth}, at::kDouble);
  std::vector<at::Tensor> norm, norm_bias;
  for (const auto& [type, name] : names(NodeType{})) {
    const std::string prefix = encoder_prefix(type);
    encoder.narrow(0, first_feature(type), kNodeFeatures[static_cast<std::size_t>(type)])
        .copy_(weights(prefix + "0.weight").t());
    encoder[kFeatureColumns + static_cast<int>(type)].copy_(weights(prefix + "0.bias"));
    norm.push_back(weights(prefix + "2.weight"));
    norm_bias.push_back(weights(prefix + "2.bias"));
  }
  folded.norm = stored(at::stack(norm));
  folded.norm_bias = stored(at::stack(norm_bias));
  folded.encoder = stored(encoder);
}

void fold_heads(const Source& weights, FoldedWeights& folded) {
  std::vector<at::Tensor> plain, plain_bias, bounded, bounded_bias;
  for (const char* name : {"policy_logits", "blending_logits", "risk_logits", "value", "breaker_logits",
                           "policy_params.0", "schedule_params.0"}) {
    plain.push_back(weights(fmt::format("{}.weight", name)).t());
    plain_bias.push_back(weights(fmt::format("{}.bias", name)));
  }
  for (const char* name : {"policy_params.2", "schedule_params.2"}) {
    bounded.push_back(weights(fmt::format("{}.weight", name)).t());
    bounded_bias.push_back(weights(fmt::format("{}.bias", name)));
  }
  folded.heads = stored(at::cat(plain, 1));
  folded.heads_bias = stored(at::cat(plain_bias));
  folded.hidden = stored(at::block_diag(bounded));
  folded.hidden_bias = stored(at::cat(bounded_bias));
  folded.seed_scores = stored(weights("seed_scores.weight").t());
  folded.seed_bias = stored(weights("seed_scores.bias"));
  folded.blueprint_scores = stored(weights("blueprint_scores.weight").t());
  folded.blueprint_bias = stored(weights("blueprint_scores.bias"));
}

// Calls each(name, tensor) for every tensor. Folded: FoldedWeights, or the same to read.
template <class Folded, class Each>
void visit(Folded& weights, Each each) {
  each("encoder", weights.encoder);
  each("norm.weight", weights.norm);
  each("norm.bias", weights.norm_bias);
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    auto& folded = weights.layers[layer];
    for (auto& target : folded.targets) {
      const std::string prefix = fmt::format("layer{}.{}", layer, base::name_of(target.type));
      each(prefix + ".weight", target.weight);
      each(prefix + ".bias", target.bias);
    }
    if (!is_attention(static_cast<int>(layer))) continue;
    each(fmt::format("layer{}.source_attention", layer), folded.source_attention);
    each(fmt::format("layer{}.target_attention", layer), folded.target_attention);
  }
  each("heads.weight", weights.heads);
  each("heads.bias", weights.heads_bias);
  each("hidden.weight", weights.hidden);
  each("hidden.bias", weights.hidden_bias);
  each("seed_scores.weight", weights.seed_scores);
  each("seed_scores.bias", weights.seed_bias);
  each("blueprint_scores.weight", weights.blueprint_scores);
  each("blueprint_scores.bias", weights.blueprint_bias);
}

}  // namespace

FoldedWeights fold(const Weights& weights) {
  const at::NoGradGuard no_grad;
  const Source source(weights);
  FoldedWeights folded;
  fold_encoders(source, folded);
  const auto after = types_after();
  for (int layer = 0; layer < kLayers; ++layer) {
    const auto place = static_cast<std::size_t>(layer);
    folded.layers[place] = fold_layer(source, layer, after[place]);
  }
  fold_heads(source, folded);
  return folded;
}

FoldedWeights on_device(FoldedWeights weights, c10::Device device) {
  visit(weights, [&](const std::string&, at::Tensor& tensor) { tensor = tensor.to(device); });
  return weights;
}

std::vector<std::pair<std::string, at::Tensor>> named_tensors(const FoldedWeights& weights) {
  std::vector<std::pair<std::string, at::Tensor>> named;
  visit(weights, [&](std::string name, const at::Tensor& tensor) { named.emplace_back(std::move(name), tensor); });
  return named;
}

}  // namespace esper::tamiyo
