#pragma once
// One number that the policy sees of a node, and how it becomes columns of the graph. Any thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tamiyo/graph/hetero_graph.h"
#include "tamiyo/graph/normaliser.h"

namespace esper::tamiyo {

enum class Transform : std::uint8_t { kNone, kLog1p, kTanh };

// Whether a column follows that is 1 where the value is there and 0 where it is absent. An absent value is 0 in its own
// column.
enum class Flag : std::uint8_t { kNone, kPresence };

struct Feature {
  std::string_view name, unit, range, meaning;  // of the value before it is scaled
  Transform transform = Transform::kNone;
  std::optional<Statistic> statistic = {};  // normalised by it, after the transform
  double divisor = 1;
  Flag flag = Flag::kPresence;

  constexpr int columns() const { return flag == Flag::kPresence ? 2 : 1; }
};

// In the order of their columns.
std::span<const Feature> features_of(NodeType type);

// The table of all features as Markdown, a part of docs/policy.md.
std::string policy_features_markdown();

}  // namespace esper::tamiyo
