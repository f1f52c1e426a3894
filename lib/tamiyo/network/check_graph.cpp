#include "tamiyo/network/check_graph.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/names.h"
#include "tamiyo/network/tensor_names.h"

namespace esper::tamiyo {
namespace {

bool within(const std::vector<std::int32_t>& nodes, int count) {
  return std::ranges::all_of(nodes, [count](std::int32_t node) { return node >= 0 && node < count; });
}

base::Expected<void> check_nodes(const NodeTable& table, NodeType type) {
  const int features = kNodeFeatures[static_cast<std::size_t>(type)];
  if (table.count < 0 || table.features.size() != static_cast<std::size_t>(table.count) * features) {
    return base::failure(fmt::format("graph: {} {} nodes of {} features have {} numbers", table.count,
                                     base::name_of(type), features, table.features.size()));
  }
  return {};
}

base::Expected<void> check_edges(const HeteroGraph& graph, int number) {
  const EdgeList& list = graph.edges[static_cast<std::size_t>(number)];
  const Relation& relation = kRelationTable[static_cast<std::size_t>(number)];
  if (list.target.size() != list.source.size() || list.attributes.size() != list.source.size() * kEdgeFeatures) {
    return base::failure(fmt::format("graph: {} has {} sources, {} targets and {} attributes", relation_key(number),
                                     list.source.size(), list.target.size(), list.attributes.size()));
  }
  if (!within(list.source, graph.nodes[static_cast<std::size_t>(relation.source)].count) ||
      !within(list.target, graph.nodes[static_cast<std::size_t>(relation.target)].count)) {
    return base::failure(fmt::format("graph: {} has an edge of a node that does not exist", relation_key(number)));
  }
  return {};
}

}  // namespace

base::Expected<void> check_graph(const HeteroGraph& graph) {
  const int globals = graph.nodes[static_cast<std::size_t>(NodeType::kGlobal)].count;
  if (globals != 1) return base::failure(fmt::format("graph: it has {} global nodes, not 1", globals));
  for (const auto& [type, name] : names(NodeType{})) {
    if (auto checked = check_nodes(graph.nodes[static_cast<std::size_t>(type)], type); !checked) return checked;
  }
  for (int relation = 0; relation < kRelations; ++relation) {
    if (auto checked = check_edges(graph, relation); !checked) return checked;
  }
  return {};
}

}  // namespace esper::tamiyo
