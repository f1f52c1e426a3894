#include "kasmina/network/network_summary.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "kasmina/network/network_frozen.h"

namespace esper::kasmina {
namespace {

// "layer1.0.conv.weight" of the id "host.layer1.0.conv.weight".
std::string_view host_name(std::string_view id) { return id.substr(id.find('.') + 1); }

std::size_t modules_in(std::string_view name) { return static_cast<std::size_t>(std::ranges::count(name, '.')); }

// The first `depth` modules that the parameter is in: "layer1.0"; itself where it is in none.
std::string_view layer_of(std::string_view name, std::size_t depth) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < std::min(depth, modules_in(name)); ++i) end = name.find('.', end == 0 ? 0 : end + 1);
  return end == 0 ? name : name.substr(0, end);
}

void add_parameter(LayerSummary& layer, std::string_view name, const torch::Tensor& tensor, bool is_trainable) {
  ++layer.tensors;
  layer.parameters += tensor.numel();
  if (is_trainable) layer.trainable += tensor.numel();
  const auto inside = name == layer.name ? name : name.substr(layer.name.size() + 1);
  layer.shapes.push_back({std::string(inside), tensor.sizes().vec()});
}

std::vector<LayerSummary> layers_of(const NetworkState& network, std::size_t depth) {
  std::vector<LayerSummary> layers;
  std::map<std::string_view, std::size_t> places;
  for (const auto& [id, tensor] : network.host.tensors.parameters) {
    const auto name = host_name(id);
    const auto [place, is_new] = places.try_emplace(layer_of(name, depth), layers.size());
    if (is_new) layers.push_back({.name = std::string(place->first)});
    add_parameter(layers[place->second], name, tensor, !is_frozen(network, id));
  }
  for (auto& layer : layers)
    if (layer.shapes.size() > kMostShapes) layer.shapes.clear();
  return layers;
}

std::vector<LayerSummary> layers_within(const NetworkState& network, std::size_t most) {
  std::size_t depth = 1;
  for (const auto& parameter : network.host.tensors.parameters)
    depth = std::max(depth, modules_in(host_name(parameter.id)));
  auto layers = layers_of(network, depth);
  while (layers.size() > most && depth > 1) layers = layers_of(network, --depth);
  return layers;
}

std::vector<std::int64_t> sizes_of(const FeatureShape& shape) {
  switch (shape.kind) {
    case FeatureKind::kImage:
      return {shape.channels, shape.height, shape.width};
    case FeatureKind::kSequence:
      return {shape.tokens, shape.channels};
    case FeatureKind::kFeatures:
      break;
  }
  return {shape.channels};
}

SlotSummary summary_of_slot(const Slot& slot) {
  SlotSummary summary{slot.site.id, slot.site.path, slot.site.shape.kind, sizes_of(slot.site.shape), std::nullopt};
  if (!slot.seed) return summary;
  const auto& seed = *slot.seed;
  const std::int64_t own = seed.folded ? 0 : seed.module.tensors.num_parameters();
  summary.seed = SeedSummary{seed.id, name_of(seed.kind), slot.stage, own};
  return summary;
}

// How many are left out.
std::int64_t cut_to(auto& rows, std::size_t most) {
  const auto more = rows.size() - std::min(rows.size(), most);
  rows.resize(rows.size() - more);
  return static_cast<std::int64_t>(more);
}

}  // namespace

NetworkSummary summary_of(const NetworkState& network, std::size_t most) {
  NetworkSummary summary;
  summary.layers = layers_within(network, most);
  for (const Slot& slot : network.structure.slots)
    if (slot.seed || slot.stage != leyline::Stage::kTerminated) summary.slots.push_back(summary_of_slot(slot));
  summary.more_layers = cut_to(summary.layers, most);
  summary.more_slots = cut_to(summary.slots, most);
  return summary;
}

}  // namespace esper::kasmina
