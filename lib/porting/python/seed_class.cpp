#include "porting/python/seed_class.h"

#include <algorithm>

#include "base/error.h"
#include "kasmina/blueprint/blueprint.h"
#include "kasmina/tensor/layers.h"
#include "leyline/blueprint/blueprint_sizes.h"
#include "porting/python/python_call.h"

namespace esper::porting {
namespace {

using kasmina::Seed;
using leyline::FeatureKind;

std::int64_t channels(const SeedPlace& place) { return place.slot.site.shape.channels; }
std::int64_t groups(const SeedPlace& place) { return kasmina::num_groups(channels(place)); }

torch::Tensor parameter(const SeedPlace& place, const std::string& name) {
  const Seed& seed = *place.slot.seed;
  const auto found = kasmina::find_parameter(seed.module.tensors, seed.id + "." + name);
  ESPER_CHECK(found.defined(), seed.id + " has no " + name);
  return found;
}
std::int64_t rows(const SeedPlace& place, const std::string& name) { return parameter(place, name).size(0); }
std::int64_t columns(const SeedPlace& place, const std::string& name) { return parameter(place, name).size(1); }

// "alpha=0.5" of a widening that still grows.
void add_alpha(const SeedPlace& place, std::vector<std::string>& arguments) {
  const Seed& seed = *place.slot.seed;
  if (!seed.in_host) arguments.push_back(fmt::format("alpha={}", seed.scalars.alpha.item<float>()));
}

std::string noop(const SeedPlace&) { return "nn.Identity()"; }
std::string channel_attention(const SeedPlace& place) {
  return python_call("ChannelAttention", {channels(place), rows(place, "down.weight")});
}
std::string layer_norm_mix(const SeedPlace& place) { return python_call("LayerNormMix", {channels(place)}); }
std::string lora(const SeedPlace& place) { return python_call("Lora", {channels(place), rows(place, "down.weight")}); }
std::string linear(const SeedPlace& place) { return python_call("LinearModule", {channels(place), channels(place)}); }
std::string dense_mlp(const SeedPlace& place) {
  return python_call("DenseMlp", {channels(place), rows(place, "up.weight")});
}
std::string gelu_mlp(const SeedPlace& place) {
  return python_call("GeluMlp", {channels(place), rows(place, "up.weight")});
}
std::string attention(const SeedPlace& place) {
  return python_call("AttentionModule", {channels(place), leyline::num_heads(channels(place))});
}
std::string flex_attention(const SeedPlace& place) {
  return python_call("FlexAttention", {channels(place), rows(place, "slope")});
}
std::string group_norm_mix(const SeedPlace& place) {
  return python_call("GroupNormMix", {channels(place), groups(place)});
}
std::string conv_light(const SeedPlace& place) { return python_call("ConvLight", {channels(place), groups(place)}); }
std::string conv_small(const SeedPlace& place) { return python_call("ConvSmall", {channels(place), groups(place)}); }
std::string conv_heavy(const SeedPlace& place) { return python_call("ConvHeavy", {channels(place), groups(place)}); }
std::string depthwise(const SeedPlace& place) { return python_call("Depthwise", {channels(place), groups(place)}); }
std::string pointwise(const SeedPlace& place) { return python_call("Pointwise", {channels(place)}); }
std::string bottleneck(const SeedPlace& place) {
  return python_call("Bottleneck", {channels(place), rows(place, "down.weight"), groups(place)});
}

std::string copies_of(const SeedPlace& place, const std::string& block) {
  const auto count = static_cast<std::size_t>(place.slot.seed->kind.copies);
  return count == 1 ? block : fmt::format("Copies({})", base::joined(std::vector(count, block)));
}
std::string residual_blocks(const SeedPlace& place) {
  return copies_of(place, python_call("ResidualBlock", {channels(place)}));
}
std::string decoder_layers(const SeedPlace& place) {
  return copies_of(
      place, python_call("DecoderLayer", {channels(place), place.host.heads}, dropout_argument(place.host.dropout)));
}

std::string dense_units(const SeedPlace& place) {
  auto named = dropout_argument(place.host.dropout);
  add_alpha(place, named);
  return python_call("MoreDenseUnits",
                     {columns(place, "linear.weight"), rows(place, "linear.weight"), rows(place, "outlet.weight")},
                     named);
}
std::string more_channels(const SeedPlace& place) {
  const auto weight = parameter(place, "conv.weight"), outlet = parameter(place, "outlet.weight");
  std::vector<std::string> named;
  if (outlet.dim() == 4) named.push_back(fmt::format("outlet_kernel={}", outlet.size(2)));
  if (static_cast<std::int64_t>(place.index) < place.host.pool_layers) named.emplace_back("pool=True");
  add_alpha(place, named);
  return python_call("MoreChannels", {weight.size(1), weight.size(0), weight.size(2), outlet.size(0)}, named);
}
std::string mlp_units(const SeedPlace& place) {
  std::vector<std::string> named;
  add_alpha(place, named);
  return python_call("MoreMlpUnits", {channels(place), rows(place, "up.weight")}, named);
}

constexpr SeedClass kFeatureClasses[] = {
    {"noop", noop},     {"attention", channel_attention}, {"norm", layer_norm_mix},
    {"lora", lora},     {"mlp_small", dense_mlp},         {"mlp", dense_mlp},
    {"linear", linear}, {"widen", dense_units},           {"widen_half", dense_units}};

constexpr SeedClass kImageClasses[] = {{"noop", noop},
                                       {"conv_light", conv_light},
                                       {"attention", channel_attention},
                                       {"norm", group_norm_mix},
                                       {"depthwise", depthwise},
                                       {"bottleneck", bottleneck},
                                       {"conv_small", conv_small},
                                       {"conv_heavy", conv_heavy},
                                       {"pointwise", pointwise},
                                       {"copy_block", residual_blocks},
                                       {"copy_block_plain", residual_blocks},
                                       {"widen", more_channels},
                                       {"widen_half", more_channels}};

constexpr SeedClass kSequenceClasses[] = {{"noop", noop},
                                          {"attention", attention},
                                          {"norm", layer_norm_mix},
                                          {"lora", lora},
                                          {"lora_large", lora},
                                          {"mlp_small", gelu_mlp},
                                          {"mlp", gelu_mlp},
                                          {"flex_attention", flex_attention},
                                          {"linear", linear},
                                          {"copy_block", decoder_layers},
                                          {"copy_block_plain", decoder_layers},
                                          {"widen", mlp_units},
                                          {"widen_half", mlp_units}};

}  // namespace

std::span<const SeedClass> seed_classes(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kFeatures:
      return kFeatureClasses;
    case FeatureKind::kImage:
      return kImageClasses;
    case FeatureKind::kSequence:
      return kSequenceClasses;
  }
  return {};
}

std::string seed_class(const SeedPlace& place) {
  const auto& blueprint = *place.slot.seed->kind.blueprint;
  const auto classes = seed_classes(blueprint.fits);
  const auto own = std::ranges::find(classes, blueprint.name, &SeedClass::blueprint);
  ESPER_CHECK(own != classes.end(), "the blueprint " + std::string(blueprint.name) + " has no class in Python");
  return own->call(place);
}

}  // namespace esper::porting
