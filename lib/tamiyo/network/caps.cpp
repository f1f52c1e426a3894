#include "tamiyo/network/caps.h"

#include <fmt/core.h>

#include <bit>

#include "base/names.h"

namespace esper::tamiyo {

namespace {

// Powers of two, and half-way between two of them.
int cap_of(int count) {
  if (count <= kLeastCap) return kLeastCap;
  const auto power = static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)));
  const int between = power / 4 * 3;
  return between > 2 * kLeastCap && count <= between ? between : power;
}

}  // namespace

base::Expected<Caps> caps_for(const HeteroGraph& graph) {
  Caps caps;
  for (const auto& [type, name] : names(NodeType{})) {
    const auto place = static_cast<std::size_t>(type);
    const int count = graph.nodes[place].count;
    if (count > kMostCap) {
      return base::failure(fmt::format("graph: {} {} nodes, the network takes at most {}", count, name, kMostCap));
    }
    caps[place] = type == NodeType::kGlobal ? 1 : cap_of(count);
  }
  return caps;
}

std::string to_text(const Caps& caps) {
  std::string text;
  for (const auto& [type, name] : names(NodeType{})) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", caps[static_cast<std::size_t>(type)], name);
  }
  return text;
}

}  // namespace esper::tamiyo
