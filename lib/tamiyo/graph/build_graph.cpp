#include "tamiyo/graph/build_graph.h"

#include "tamiyo/graph/edges.h"

namespace esper::tamiyo {

void GraphBuilder::read(const leyline::Observation& observation) {
  find_nodes(observation, nodes_);
  read_features(nodes_, values_);
}

const PolicyGraph& GraphBuilder::build(const Normaliser& normaliser) {
  scale_features(values_, normaliser, built_.graph, built_.coverage);
  build_edges(nodes_, built_.graph);
  count_relations(built_.graph, built_.coverage);
  built_.coverage.left_out = nodes_.left_out;
  built_.candidates = nodes_.candidates;
  return built_;
}

}  // namespace esper::tamiyo
