#pragma once
// What one sample looks like: the data say it, the network is built for it.

#include <cstdint>
#include <vector>

namespace esper::leyline {

enum class SampleKind { kFeatures, kImage, kTokens };

struct SampleShape {
  SampleKind kind = SampleKind::kFeatures;
  std::int64_t features = 0;                         // kFeatures: numbers in a sample
  std::int64_t channels = 0, height = 0, width = 0;  // kImage
  std::int64_t context = 0;                          // kTokens: tokens in a sample; each has its own target
  // Outputs of the network: classes; labels or numbers of a target; kTokens: the vocabulary.
  std::int64_t num_classes = 0;
  bool operator==(const SampleShape&) const = default;

  // [features], [channels, height, width] or [context].
  std::vector<std::int64_t> sizes() const {
    if (kind == SampleKind::kImage) return {channels, height, width};
    return {kind == SampleKind::kFeatures ? features : context};
  }
};

inline SampleShape features_shape(std::int64_t features, std::int64_t num_classes) {
  return {.kind = SampleKind::kFeatures, .features = features, .num_classes = num_classes};
}
inline SampleShape image_shape(std::int64_t channels, std::int64_t height, std::int64_t width,
                               std::int64_t num_classes) {
  return {
      .kind = SampleKind::kImage, .channels = channels, .height = height, .width = width, .num_classes = num_classes};
}
inline SampleShape tokens_shape(std::int64_t context, std::int64_t vocabulary) {
  return {.kind = SampleKind::kTokens, .context = context, .num_classes = vocabulary};
}

}  // namespace esper::leyline
