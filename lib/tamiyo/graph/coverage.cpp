#include "tamiyo/graph/coverage.h"

#include <algorithm>
#include <cstdint>

#include "tamiyo/graph/node_caps.h"
#include "tamiyo/graph/relation_index.h"

namespace esper::tamiyo {
namespace {

struct NodeFamily {
  std::string_view name;
  NodeType type;
};
constexpr std::array kNodeFamilies{
    NodeFamily{"node.seed", NodeType::kSeed},
    NodeFamily{"node.layer", NodeType::kLayer},
    NodeFamily{"node.activation", NodeType::kActivation},
    NodeFamily{"node.parameter", NodeType::kParameter},
    NodeFamily{"node.blueprint", NodeType::kBlueprint},
    NodeFamily{"node.global", NodeType::kGlobal},
};

struct EdgeFamily {
  std::string_view name;
  std::size_t relation;
};
constexpr std::array kEdgeFamilies{
    EdgeFamily{"edges.layer_connects", relation_index(NodeType::kLayer, "connects")},
    EdgeFamily{"edges.seed_monitors", relation_index(NodeType::kSeed, "monitors")},
    EdgeFamily{"edges.layer_feeds", relation_index(NodeType::kLayer, "feeds")},
    EdgeFamily{"edges.layer_activates", relation_index(NodeType::kLayer, "activates")},
    EdgeFamily{"edges.activation_configures", relation_index(NodeType::kActivation, "configures")},
    EdgeFamily{"edges.parameter_modulates", relation_index(NodeType::kParameter, "modulates")},
    EdgeFamily{"edges.blueprint_composes", relation_index(NodeType::kBlueprint, "composes")},
    EdgeFamily{"edges.parameter_targets", relation_index(NodeType::kParameter, "targets")},
    EdgeFamily{"edges.global_influences", relation_index(NodeType::kGlobal, "influences")},
    EdgeFamily{"edges.seed_reports", relation_index(NodeType::kSeed, "reports")},
    EdgeFamily{"edges.global_operates", relation_index(NodeType::kGlobal, "operates")},
    EdgeFamily{"edges.layer_feedback", relation_index(NodeType::kLayer, "feedback")},
};
static_assert(kNodeFamilies.size() + kEdgeFamilies.size() == kFamilies);

Share sum_of(const std::vector<Share>& shares) {
  Share sum;
  for (const auto& share : shares) sum.present += share.present, sum.total += share.total;
  return sum;
}

}  // namespace

std::array<FamilyCoverage, kFamilies> family_coverage(const Coverage& coverage) {
  std::array<FamilyCoverage, kFamilies> families{};
  auto next = families.begin();
  for (const auto& [name, type] : kNodeFamilies) *next++ = {name, node_coverage(coverage, type)};
  for (const auto& [name, relation] : kEdgeFamilies) *next++ = {name, coverage.relations[relation]};
  return families;
}

Share node_coverage(const Coverage& coverage, NodeType type) {
  return sum_of(coverage.features[static_cast<std::size_t>(type)]);
}

Share feature_coverage(const Coverage& coverage) {
  Share all;
  for (const auto& features : coverage.features) {
    const auto [present, total] = sum_of(features);
    all.present += present, all.total += total;
  }
  return all;
}

void count_relations(const HeteroGraph& graph, Coverage& coverage) {
  for (std::size_t r = 0; r < kRelationTable.size(); ++r) {
    std::array<bool, std::ranges::max(kNodeCaps)> has_edge{};
    for (const std::int32_t source : graph.edges[r].source) has_edge[static_cast<std::size_t>(source)] = true;
    const auto type = static_cast<std::size_t>(kRelationTable[r].source);
    coverage.relations[r] = {static_cast<int>(std::ranges::count(has_edge, true)), graph.nodes[type].count};
  }
}

}  // namespace esper::tamiyo
