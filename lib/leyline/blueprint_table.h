#pragma once
// The names of all blueprints and the features they can be grown at, without the modules themselves: what a run file is
// checked against before there is a network. lib/kasmina/blueprint/ has the modules; a test holds the two against each
// other. Any thread.

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

struct BlueprintEntry {
  std::string_view name;
  FeatureKind fits;
  // The least that the feature must have: channels, positions (pixels or tokens), and numbers (their product).
  std::int64_t channels = 1, positions = 1, numbers = 1;
};

// As far as a run file tells; positions may depend on the data.
struct SlotShape {
  FeatureKind kind = FeatureKind::kFeatures;
  std::int64_t channels = 1;
  std::optional<std::int64_t> positions = 1;
};

// By kind of feature, in the catalogue's order.
inline constexpr std::array kBlueprintTable{
    BlueprintEntry{"noop", FeatureKind::kFeatures},
    BlueprintEntry{"attention", FeatureKind::kFeatures},
    BlueprintEntry{"norm", FeatureKind::kFeatures, 2},
    BlueprintEntry{"lora", FeatureKind::kFeatures, 9},
    BlueprintEntry{"mlp_small", FeatureKind::kFeatures},
    BlueprintEntry{"mlp", FeatureKind::kFeatures},
    BlueprintEntry{"linear", FeatureKind::kFeatures},
    BlueprintEntry{"noop", FeatureKind::kImage},
    BlueprintEntry{"conv_light", FeatureKind::kImage, 1, 2},
    BlueprintEntry{"attention", FeatureKind::kImage},
    BlueprintEntry{"norm", FeatureKind::kImage, 1, 1, 2},
    BlueprintEntry{"depthwise", FeatureKind::kImage, 1, 2},
    BlueprintEntry{"bottleneck", FeatureKind::kImage, 9, 2},
    BlueprintEntry{"conv_small", FeatureKind::kImage, 1, 1, 2},
    BlueprintEntry{"conv_heavy", FeatureKind::kImage, 1, 2},
    BlueprintEntry{"pointwise", FeatureKind::kImage},
    BlueprintEntry{"noop", FeatureKind::kSequence},
    BlueprintEntry{"attention", FeatureKind::kSequence, 1, 2},
    BlueprintEntry{"norm", FeatureKind::kSequence, 2},
    BlueprintEntry{"lora", FeatureKind::kSequence, 9},
    BlueprintEntry{"lora_large", FeatureKind::kSequence, 33},
    BlueprintEntry{"mlp_small", FeatureKind::kSequence},
    BlueprintEntry{"mlp", FeatureKind::kSequence},
    BlueprintEntry{"flex_attention", FeatureKind::kSequence, 1, 2},
    BlueprintEntry{"linear", FeatureKind::kSequence},
};

// Null if there is none of this name for this kind of feature.
constexpr const BlueprintEntry* find_blueprint_entry(std::string_view name, FeatureKind kind) {
  for (const BlueprintEntry& entry : kBlueprintTable) {
    if (entry.name == name && entry.fits == kind) return &entry;
  }
  return nullptr;
}

constexpr bool is_blueprint(std::string_view name) {
  for (const BlueprintEntry& entry : kBlueprintTable) {
    if (entry.name == name) return true;
  }
  return false;
}

// What is not known of the shape counts as enough.
constexpr bool may_fit(const BlueprintEntry& entry, const SlotShape& shape) {
  if (entry.fits != shape.kind || shape.channels < entry.channels) return false;
  return !shape.positions ||
         (*shape.positions >= entry.positions && shape.channels * *shape.positions >= entry.numbers);
}

}  // namespace esper::leyline
