#pragma once
// The feature at a place in a network where a module may grow. Any thread.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace esper::leyline {

enum class FeatureKind { kFeatures, kImage, kSequence };
constexpr auto names(FeatureKind) {
  using K = FeatureKind;
  return std::array{std::pair{K::kFeatures, "features"}, std::pair{K::kImage, "image"},
                    std::pair{K::kSequence, "sequence"}};
}

// Without the batch: [channels], [channels, height, width] or [tokens, channels]. Before the data are there, a run file
// alone may not determine height and width: then they are 0.
struct FeatureShape {
  FeatureKind kind = FeatureKind::kFeatures;
  std::int64_t channels = 0;
  std::int64_t height = 0, width = 0;  // kImage
  std::int64_t tokens = 0;             // kSequence: the longest
  // Why the host's block that ends here cannot be copied, as a clause; empty where it can.
  std::string_view uncopied = {};

  // Pixels or tokens, 1 for flat features; nothing where it is not known.
  constexpr std::optional<std::int64_t> positions() const {
    if (kind == FeatureKind::kFeatures) return 1;
    const std::int64_t count = kind == FeatureKind::kImage ? height * width : tokens;
    return count > 0 ? std::optional(count) : std::nullopt;
  }
};

}  // namespace esper::leyline
