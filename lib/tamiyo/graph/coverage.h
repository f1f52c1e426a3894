#pragma once
// How much of what a graph could hold it holds: a policy that sees little should not be trusted. Any thread.

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "tamiyo/graph/hetero_graph.h"

namespace esper::tamiyo {

struct Share {
  int present = 0, total = 0;
  // 0 of nothing.
  double ratio() const { return total > 0 ? static_cast<double>(present) / total : 0; }
  bool operator==(const Share&) const = default;
};

struct Coverage {
  // By NodeType, parallel to features_of(type): the nodes whose feature is there, of all nodes of the type. What does
  // not apply, like the age of an empty slot, counts as absent.
  std::array<std::vector<Share>, kNodeTypes> features;
  // By place in kRelationTable: the source nodes with at least one such edge, of all.
  std::array<Share, kRelations> relations{};
  std::array<int, kNodeTypes> left_out{};  // nodes beyond kNodeCaps
};

// What telemetry and the check for degraded inputs look at.
struct FamilyCoverage {
  std::string_view name;  // "node.seed", "edges.seed_monitors"
  Share share;
};
inline constexpr std::size_t kFamilies = 18;
std::array<FamilyCoverage, kFamilies> family_coverage(const Coverage& coverage);

// Of one node type's features together.
Share node_coverage(const Coverage& coverage, NodeType type);
// Of all features of all nodes.
Share feature_coverage(const Coverage& coverage);

// Fills `relations` from the edges.
void count_relations(const HeteroGraph& graph, Coverage& coverage);

}  // namespace esper::tamiyo
