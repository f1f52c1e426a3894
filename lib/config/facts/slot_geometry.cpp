#include "config/facts/slot_geometry.h"

#include <algorithm>
#include <utility>

#include "config/facts/exported_host.h"
#include "leyline/slot_id.h"

namespace esper::config {

using leyline::FeatureKind;
using leyline::FeatureShape;

namespace {

constexpr std::string_view kNotResidual =
    "the host's block before it has no residual connection and returns a feature of another shape than it takes; with "
    "host.residual_blocks a residual block follows that can be copied";

std::vector<FeatureShape> cnn_features(const HostConfig& host, std::int64_t height, std::int64_t width) {
  std::vector<FeatureShape> features;
  for (std::int64_t i = 0; i < host.blocks; ++i) {
    if (i < host.pool_layers) height /= 2, width /= 2;
    features.push_back({.kind = FeatureKind::kImage,
                        .channels = block_channels(host, i),
                        .height = height,
                        .width = width,
                        .uncopied = host.residual_blocks > 0 ? "" : kNotResidual});
  }
  return features;
}

std::vector<FeatureShape> features_of(const HostConfig& host, const leyline::SampleShape& sample) {
  std::vector<FeatureShape> features;
  switch (host.kind) {
    case HostKind::kLinear:
    case HostKind::kExported:
      break;
    case HostKind::kMlp:
      for (const std::int64_t width : host.hidden) {
        features.push_back({.kind = FeatureKind::kFeatures, .channels = width});
      }
      break;
    case HostKind::kCnn:
      return cnn_features(host, sample.height, sample.width);
    case HostKind::kTransformer:
      features.assign(static_cast<std::size_t>(host.segments),
                      {.kind = FeatureKind::kSequence, .channels = host.embedding, .tokens = sample.context});
      break;
  }
  return features;
}

}  // namespace

std::vector<SlotGeometry> slot_geometry(const HostConfig& host, const leyline::SampleShape& sample,
                                        const std::vector<std::string>& named) {
  std::vector<SlotGeometry> slots;
  if (host.kind == HostKind::kExported) {
    const auto exported = read_exported_host(host.path);
    if (!exported) return slots;
    for (auto& site : named_sites(*exported, named)) {
      slots.push_back({leyline::slot_id_of(slots.size()), site.shape, std::move(site.path)});
    }
    return slots;
  }
  for (const auto& feature : features_of(host, sample)) slots.push_back({leyline::slot_id_of(slots.size()), feature});
  return slots;
}

bool may_grow_at(const std::vector<std::string>& named, std::string_view slot) {
  return named.empty() || std::ranges::any_of(named, [slot](const std::string& text) {
           return text == slot || !leyline::is_slot_id(text);
         });
}

}  // namespace esper::config
