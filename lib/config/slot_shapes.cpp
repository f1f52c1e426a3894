#include "config/slot_shapes.h"

#include <utility>

namespace esper::config {

using leyline::FeatureKind;
using leyline::SlotShape;

namespace {

constexpr std::size_t kImageRank = 3;

std::vector<SlotShape> cnn_slots(const HostConfig& host, std::optional<Pixels> pixels) {
  std::vector<SlotShape> slots;
  std::int64_t channels = host.base_channels;
  for (std::int64_t i = 0; i < host.blocks; ++i, channels *= 2) {
    if (pixels && i < host.pool_layers) pixels = Pixels{pixels->height / 2, pixels->width / 2};
    // Poolings that leave nothing are told when the host meets the data.
    const bool is_left = pixels && pixels->height > 0 && pixels->width > 0;
    slots.push_back(
        {FeatureKind::kImage, channels, is_left ? std::optional(pixels->height * pixels->width) : std::nullopt});
  }
  return slots;
}

}  // namespace

std::optional<Pixels> pixels_of(const DataConfig& data) {
  if (data.shape.size() == kImageRank) return Pixels{data.shape[1], data.shape[2]};
  if (!data.shape.empty()) return std::nullopt;
  if (data.kind == DataKind::kCifar10) return Pixels{32, 32};
  if (data.kind == DataKind::kImages && data.image_size > 0) return Pixels{data.image_size, data.image_size};
  return std::nullopt;
}

bool image_shaped(const DataConfig& data) {
  switch (data.kind) {
    case DataKind::kMnist:
    case DataKind::kCifar10:
    case DataKind::kImages:
    case DataKind::kNpy:
      return data.shape.empty() || data.shape.size() == kImageRank;
    case DataKind::kDigits:  // rows of numbers
    case DataKind::kCsv:
    case DataKind::kSynthetic:
      return data.shape.size() == kImageRank;
    case DataKind::kText:
      break;
  }
  return false;
}

std::vector<SlotShape> slot_shapes(const RunConfig& config) {
  const HostConfig& host = config.host;
  std::vector<SlotShape> slots;
  switch (host.kind) {
    case HostKind::kLinear:
      break;
    case HostKind::kMlp:
      for (const std::int64_t width : host.hidden) slots.push_back({FeatureKind::kFeatures, width, 1});
      break;
    case HostKind::kCnn:
      return cnn_slots(host, pixels_of(config.data));
    case HostKind::kTransformer:
      slots.assign(static_cast<std::size_t>(host.segments),
                   {FeatureKind::kSequence, host.embedding, config.data.context});
      break;
  }
  return slots;
}

std::optional<std::int64_t> known_classes(const DataConfig& data) {
  constexpr std::int64_t kTen = 10;
  switch (data.kind) {
    case DataKind::kDigits:
      return data.path.empty() ? std::optional(kTen) : std::nullopt;
    case DataKind::kCifar10:
      return kTen;
    case DataKind::kSynthetic:
      return data.synthetic.classes;
    case DataKind::kMnist:  // the format is used for others, too
    case DataKind::kCsv:
    case DataKind::kImages:
    case DataKind::kNpy:
    case DataKind::kText:
      break;
  }
  return std::nullopt;
}

}  // namespace esper::config
