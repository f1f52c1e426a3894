#pragma once
// What one sample looks like: the data say it, the network is built for it.

#include <cstdint>

namespace esper::leyline {

enum class SampleKind { kFeatures, kImage, kTokens };

struct SampleShape {
  SampleKind kind = SampleKind::kFeatures;
  std::int64_t features = 0;  // kFeatures: numbers in a sample; kImage: channels * height * width
  std::int64_t channels = 0, height = 0, width = 0;  // kImage
  std::int64_t context = 0;                          // kTokens: tokens in a sample; targets have one class for each
  std::int64_t num_classes = 0;                      // kTokens: the vocabulary
  bool operator==(const SampleShape&) const = default;
};

}  // namespace esper::leyline
