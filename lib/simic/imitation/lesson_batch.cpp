#include "simic/imitation/lesson_batch.h"

namespace esper::simic {
namespace {

using Counts = std::array<int, tamiyo::kNodeTypes>;

template <class T>
void append(const std::vector<T>& more, std::vector<T>& all) {
  all.insert(all.end(), more.begin(), more.end());
}

void append_nodes(const std::vector<std::int32_t>& nodes, int first, std::vector<std::int32_t>& all) {
  for (const std::int32_t node : nodes) all.push_back(node + first);
}

void append_graph(const tamiyo::HeteroGraph& graph, const Counts& first, tamiyo::HeteroGraph& all) {
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const auto& relation = tamiyo::kRelationTable[i];
    append_nodes(graph.edges[i].source, first[static_cast<std::size_t>(relation.source)], all.edges[i].source);
    append_nodes(graph.edges[i].target, first[static_cast<std::size_t>(relation.target)], all.edges[i].target);
    append(graph.edges[i].attributes, all.edges[i].attributes);
  }
  for (std::size_t type = 0; type < graph.nodes.size(); ++type) {
    append(graph.nodes[type].features, all.nodes[type].features);
    all.nodes[type].count += graph.nodes[type].count;
  }
}

}  // namespace

LessonBatch join_lessons(std::span<const Lesson* const> lessons) {
  LessonBatch batch;
  for (const Lesson* lesson : lessons) {
    Counts first{};
    for (std::size_t type = 0; type < first.size(); ++type) first[type] = batch.graphs.nodes[type].count;
    append_graph(lesson->graph, first, batch.graphs);
    batch.lessons.push_back(lesson);
    batch.first.push_back(first);
  }
  return batch;
}

}  // namespace esper::simic
