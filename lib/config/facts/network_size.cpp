#include "config/facts/network_size.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "config/facts/deepening.h"
#include "config/facts/slot_geometry.h"
#include "leyline/blueprint/blueprint_name.h"
#include "leyline/blueprint/blueprint_sizes.h"
#include "leyline/blueprint/blueprint_table.h"

namespace esper::config {
namespace {

using leyline::FeatureKind;
using leyline::FeatureShape;
using leyline::SampleKind;
using leyline::SampleShape;

std::int64_t inputs_of(const SampleShape& sample) {
  return sample.kind == SampleKind::kImage ? sample.channels * sample.height * sample.width : sample.features;
}

constexpr std::int64_t linear_parameters(std::int64_t in, std::int64_t out) { return (in + 1) * out; }

// Logits, their logarithms and their gradient.
constexpr std::int64_t head_activations(std::int64_t outputs) { return 3 * outputs; }

NetworkSize linear_size(const SampleShape& sample) {
  return {linear_parameters(inputs_of(sample), sample.num_classes), 0,
          2 * inputs_of(sample) + head_activations(sample.num_classes)};
}

NetworkSize mlp_size(const HostConfig& host, const SampleShape& sample) {
  NetworkSize size{.activations = 2 * inputs_of(sample) + head_activations(sample.num_classes)};
  std::int64_t in = inputs_of(sample);
  for (const std::int64_t width : host.hidden) {
    size.parameters += linear_parameters(in, width);
    size.activations += (host.dropout > 0 ? 4 : 3) * width;  // before and after the ReLU, the gradient, a mask
    in = width;
  }
  size.parameters += linear_parameters(in, sample.num_classes);
  return size;
}

// Weight, bias and the two statistics and the count of a batch norm.
void add_norm(NetworkSize& size, std::int64_t channels) {
  size.parameters += 2 * channels;
  size.buffers += 2 * channels + 1;
}

NetworkSize cnn_size(const HostConfig& host, const SampleShape& sample) {
  NetworkSize size{.activations = 2 * inputs_of(sample) + head_activations(sample.num_classes)};
  std::int64_t in = sample.channels, height = sample.height, width = sample.width;
  for (std::int64_t i = 0; i < host.blocks; ++i) {
    const std::int64_t out = block_channels(host, i);
    size.parameters += out * in * host.kernel * host.kernel;
    add_norm(size, out);
    size.activations += 6 * out * height * width;  // convolution, ReLU, their gradients, the kernels' own layouts
    if (i < host.pool_layers) {
      height /= 2, width /= 2;
      size.activations += 4 * out * height * width;  // values, gradient, and where they were (8 bytes each)
    }
    for (std::int64_t j = 0; j < host.residual_blocks; ++j) {
      size.parameters += 2 * 9 * out * out;
      add_norm(size, out), add_norm(size, out);
      size.activations += 12 * out * height * width;
    }
    in = out;
  }
  size.parameters += linear_parameters(in, sample.num_classes);
  return size;
}

// Of a layer of the transformer host, for each token: norms, projections, MLP, sums and their gradients.
constexpr std::int64_t kLayerActivations = 26;

NetworkSize transformer_size(const HostConfig& host, const SampleShape& sample) {
  const std::int64_t width = host.embedding, tokens = sample.context;
  NetworkSize size;
  size.parameters =
      (sample.num_classes + tokens) * width + host.layers * leyline::decoder_block_parameters(width) + 2 * width;
  // Dropout of attention weights needs them as a matrix; so does a backward without a fused kernel.
  const std::int64_t scores = host.heads * tokens * (host.dropout > 0 ? 4 : 1);
  const std::int64_t dropout = host.dropout > 0 ? 3 * width : 0;
  size.activations = tokens * (host.layers * (kLayerActivations * width + scores + dropout) + 4 * width +
                               head_activations(sample.num_classes));
  return size;
}

// Of a module that grows: as many features as its widest form keeps.
std::int64_t grown_activations(const FeatureShape& shape) {
  const std::int64_t features = shape.channels * shape.positions().value_or(1);
  return (shape.kind == FeatureKind::kSequence ? kLayerActivations : 8) * features;
}

NetworkSize size_of(const leyline::BlueprintFacts& blueprint, const FeatureShape& shape, int copies) {
  return {copies * blueprint.num_parameters(shape), 0, copies * grown_activations(shape)};
}

void raise(NetworkSize& size, const NetworkSize& other) {
  size.parameters = std::max(size.parameters, other.parameters);
  size.activations = std::max(size.activations, other.activations);
}

// Of a blueprint by its name in a run file; nothing where it does not grow there.
NetworkSize named_size(const std::string& text, const FeatureShape& shape) {
  const auto name = leyline::BlueprintName::parse(text);
  const auto* facts = name ? leyline::find_blueprint_facts(name->plain, shape.kind) : nullptr;
  return facts != nullptr && leyline::may_fit(*facts, shape) ? size_of(*facts, shape, name->copies) : NetworkSize{};
}

NetworkSize largest_at(const SlotGeometry& slot, const RunConfig& config) {
  NetworkSize largest;
  for (const std::string& name : config.growth.blueprints) raise(largest, named_size(name, slot.shape));
  if (config.growth.blueprints.empty()) {
    for (const auto& facts : leyline::blueprint_table())
      if (facts.fits == slot.shape.kind && !leyline::must_be_named(facts) && leyline::may_fit(facts, slot.shape))
        raise(largest, size_of(facts, slot.shape, 1));
  }
  return largest;
}

NetworkSize scheduled_at(const SlotGeometry& slot, const RunConfig& config) {
  NetworkSize largest;
  for (const auto& line : scheduled_germinations(config))
    if (line && line->slot == slot.id) raise(largest, named_size(line->blueprint, slot.shape));
  return largest;
}

void add(NetworkSize& size, const NetworkSize& more) {
  size.parameters += more.parameters;
  size.activations += more.activations;
}

}  // namespace

std::optional<NetworkSize> host_size(const HostConfig& host, const SampleShape& sample) {
  NetworkSize size;
  switch (host.kind) {
    case HostKind::kLinear:
      size = linear_size(sample);
      break;
    case HostKind::kMlp:
      size = mlp_size(host, sample);
      break;
    case HostKind::kCnn:
      size = cnn_size(host, sample);
      break;
    case HostKind::kTransformer:
      size = transformer_size(host, sample);
      break;
    case HostKind::kExported:
      return std::nullopt;
  }
  for (const auto& slot : slot_geometry(host, sample))
    for (const auto& module : host.modules)
      if (module && module->slot == slot.id) add(size, named_size(module->blueprint, slot.shape));
  return size;
}

NetworkSize most_growth(const RunConfig& config, const SampleShape& sample) {
  NetworkSize most;
  if (!config.growth.enabled || config.policy.kind == PolicyKind::kNone) return most;
  const bool is_scheduled = config.policy.kind == PolicyKind::kSchedule;
  for (const auto& slot : slot_geometry(config.host, sample, config.growth.slots)) {
    if (!may_grow_at(config.growth.slots, slot.id)) continue;
    add(most, is_scheduled ? scheduled_at(slot, config) : largest_at(slot, config));
  }
  return most;
}

}  // namespace esper::config
