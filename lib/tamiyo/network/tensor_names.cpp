#include "tamiyo/network/tensor_names.h"

#include <fmt/core.h>

#include "base/names.h"
#include "tamiyo/graph/policy_outputs.h"
#include "tamiyo/network/network_sizes.h"

namespace esper::tamiyo {
namespace {

using Specs = std::vector<TensorSpec>;

void add_linear(Specs& specs, const std::string& prefix, std::int64_t in, std::int64_t out) {
  specs.push_back({prefix + ".weight", {out, in}});
  specs.push_back({prefix + ".bias", {out}});
}

void add_encoder(Specs& specs, NodeType type) {
  const std::string prefix = encoder_prefix(type);
  add_linear(specs, prefix + "0", kNodeFeatures[static_cast<std::size_t>(type)], kEncoderWidth);
  specs.push_back({prefix + "2.weight", {kEncoderWidth}});
  specs.push_back({prefix + "2.bias", {kEncoderWidth}});
}

void add_sage(Specs& specs, int layer, int relation) {
  const std::string prefix = relation_prefix(layer, relation);
  add_linear(specs, prefix + "lin_l", width_before(layer), kSageWidth);
  specs.push_back({prefix + "lin_r.weight", {kSageWidth, width_before(layer)}});
}

void add_gat(Specs& specs, int layer, int relation) {
  const std::string prefix = relation_prefix(layer, relation);
  for (const char* name : {"att_src", "att_dst", "att_edge"}) {
    specs.push_back({prefix + name, {1, kHeads, kGatWidth}});
  }
  specs.push_back({prefix + "bias", {kGatWidth}});
  for (const char* name : {"lin_src.weight", "lin_dst.weight"}) {
    specs.push_back({prefix + name, {kHeads * kGatWidth, width_before(layer)}});
  }
  specs.push_back({prefix + "lin_edge.weight", {kHeads * kGatWidth, kEdgeFeatures}});
}

void add_heads(Specs& specs) {
  const auto two_layers = [&specs](const std::string& name, std::int64_t out) {
    add_linear(specs, name + ".0", kGatWidth, kHiddenWidth);
    add_linear(specs, name + ".2", kHiddenWidth, out);
  };
  add_linear(specs, "policy_logits", kGatWidth, kPolicyActions);
  two_layers("policy_params", kPolicyParams);
  add_linear(specs, "blending_logits", kGatWidth, kBlendingMethods);
  add_linear(specs, "risk_logits", kGatWidth, kRiskLevels);
  add_linear(specs, "value", kGatWidth, 1);
  two_layers("schedule_params", kScheduleParams);
  add_linear(specs, "breaker_logits", kGatWidth, kBreakerStates);
  add_linear(specs, "seed_scores", kGatWidth, 1);
  add_linear(specs, "blueprint_scores", kGatWidth, 1);
}

Specs make_specs() {
  Specs specs;
  for (const auto& [type, name] : names(NodeType{})) add_encoder(specs, type);
  for (int layer = 0; layer < kLayers; ++layer) {
    for (int relation = 0; relation < kRelations; ++relation) {
      is_attention(layer) ? add_gat(specs, layer, relation) : add_sage(specs, layer, relation);
    }
  }
  add_heads(specs);
  return specs;
}

}  // namespace

const std::vector<TensorSpec>& network_tensors() {
  static const Specs kSpecs = make_specs();
  return kSpecs;
}

std::string encoder_prefix(NodeType type) { return fmt::format("encoders.{}.", base::name_of(type)); }

std::string relation_prefix(int layer, int relation) {
  return fmt::format("convs.{}.convs.<{}>.", layer, relation_key(relation));
}

std::string relation_key(int relation) {
  const Relation& r = kRelationTable[static_cast<std::size_t>(relation)];
  return fmt::format("{}___{}___{}", base::name_of(r.source), r.name, base::name_of(r.target));
}

}  // namespace esper::tamiyo
