#pragma once
// What one sample looks like; a host is built from it.

#include <cstdint>
#include <vector>

namespace esper::data {

enum class SampleKind { kFeatures, kImage, kSequence };

struct SampleShape {
  SampleKind kind = SampleKind::kFeatures;
  std::vector<std::int64_t> sizes;  // features [F], image [C, H, W], sequence [T]
  std::int64_t num_classes = 0;     // of a sequence: characters in the vocabulary
  bool operator==(const SampleShape&) const = default;
};

}  // namespace esper::data
