#include "tamiyo/graph/edges.h"

#include <array>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <utility>
#include <vector>

#include "tamiyo/graph/relation_index.h"
#include "unit/tamiyo/observed.h"

namespace esper::tamiyo::edges_test {
namespace {

using Catch::Approx;
using Pairs = std::vector<std::pair<int, int>>;

HeteroGraph edges_of(const leyline::Observation& observation) {
  GraphNodes nodes;
  find_nodes(observation, nodes);
  HeteroGraph graph;
  build_edges(nodes, graph);
  return graph;
}

Pairs pairs_of(const EdgeList& list) {
  Pairs pairs;
  for (std::size_t i = 0; i < list.source.size(); ++i) pairs.emplace_back(list.source[i], list.target[i]);
  return pairs;
}

Pairs reversed(Pairs pairs) {
  for (auto& [source, target] : pairs) std::swap(source, target);
  return pairs;
}

void check_attributes(const EdgeList& list, std::size_t edge, const std::vector<double>& expected) {
  REQUIRE(list.attributes.size() == list.source.size() * kEdgeFeatures);
  for (std::size_t i = 0; i < kEdgeFeatures; ++i) {
    CAPTURE(edge, i);
    CHECK(list.attributes[edge * kEdgeFeatures + i] == Approx(expected[i]).margin(1e-7));
  }
}

TEST_CASE("the run is linked with its seeds, blueprints and blocks") {
  const auto graph = edges_of(observed_run());
  const auto& influences = graph.edges[relation_index(NodeType::kGlobal, "influences")];
  CHECK(pairs_of(influences) == Pairs{{0, 0}, {0, 1}});
  check_attributes(influences, 0, {1, 3 / 11.0, 0.5});
  check_attributes(influences, 1, {1, 1 / 11.0, 0});
  CHECK(pairs_of(graph.edges[relation_index(NodeType::kSeed, "reports")]) == reversed(pairs_of(influences)));
  const auto& annotates = graph.edges[relation_index(NodeType::kGlobal, "annotates")];
  CHECK(pairs_of(annotates) == Pairs{{0, 0}, {0, 1}});
  check_attributes(annotates, 1, {1, 0.3, 0.2});
  CHECK(pairs_of(graph.edges[relation_index(NodeType::kBlueprint, "monitored_by")]) == reversed(pairs_of(annotates)));
  const auto& operates = graph.edges[relation_index(NodeType::kGlobal, "operates")];
  CHECK(pairs_of(operates) == Pairs{{0, 0}, {0, 1}, {0, 2}});
  check_attributes(operates, 1, {1, 0.5, 0.5});
  CHECK(pairs_of(graph.edges[relation_index(NodeType::kLayer, "feedback")]) == reversed(pairs_of(operates)));
}

TEST_CASE("seeds are linked with each other, and with the block before their slot") {
  const auto graph = edges_of(observed_run());
  const auto& peer = graph.edges[relation_index(NodeType::kSeed, "peer")];
  CHECK(pairs_of(peer) == Pairs{{0, 1}, {1, 0}});
  check_attributes(peer, 0, {0.5, 0, 0});
  const auto& monitors = graph.edges[relation_index(NodeType::kSeed, "monitors")];
  CHECK(pairs_of(monitors) == Pairs{{0, 0}, {1, 1}});
  check_attributes(monitors, 1, {1 / 11.0, 0, 0.5});
  CHECK(pairs_of(graph.edges[relation_index(NodeType::kLayer, "monitored_by")]) == reversed(pairs_of(monitors)));
}

TEST_CASE("a command's numbers are linked with what they act on") {
  const auto graph = edges_of(observed_run());
  const auto& allowed = graph.edges[relation_index(NodeType::kSeed, "allowed")];
  CHECK(pairs_of(allowed) == Pairs{{1, 0}, {1, 1}});  // GERMINATE takes them, so the empty slot alone
  check_attributes(allowed, 0, {1, 1, 1 / 11.0});
  CHECK(pairs_of(graph.edges[relation_index(NodeType::kParameter, "associated")]) == reversed(pairs_of(allowed)));
  const auto& configures = graph.edges[relation_index(NodeType::kActivation, "configures")];
  CHECK(pairs_of(configures) == Pairs{{0, 0}, {1, 0}, {0, 1}, {1, 1}});
  check_attributes(configures, 1, {0.5, 4 / 19.0, 1});
  CHECK(pairs_of(graph.edges[relation_index(NodeType::kParameter, "modulates")]) == reversed(pairs_of(configures)));
  const auto& targets = graph.edges[relation_index(NodeType::kParameter, "targets")];
  CHECK(pairs_of(targets) == Pairs{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  check_attributes(targets, 1, {4 / 19.0, 0.2, 1});
}

TEST_CASE("a blueprint is linked with the blocks behind which it fits") {
  const auto graph = edges_of(observed_run());
  const auto& composes = graph.edges[relation_index(NodeType::kBlueprint, "composes")];
  CHECK(pairs_of(composes) == Pairs{{0, 1}, {1, 1}});
  check_attributes(composes, 0, {0.5, 0.5, 1});
  CHECK(pairs_of(graph.edges[relation_index(NodeType::kLayer, "belongs_to")]) == reversed(pairs_of(composes)));
  CHECK(pairs_of(graph.edges[relation_index(NodeType::kBlueprint, "energizes")]) == Pairs{{0, 1}, {1, 1}});
}

TEST_CASE("blocks are a chain, each with its activation") {
  auto seen = observed_run();
  leyline::BlockState embedding;
  embedding.id = "host.tokens";
  seen.blocks.insert(seen.blocks.begin(), embedding);
  const auto graph = edges_of(seen);
  const auto& connects = graph.edges[relation_index(NodeType::kLayer, "connects")];
  CHECK(pairs_of(connects) == Pairs{{0, 1}, {1, 2}, {2, 3}});
  check_attributes(connects, 1, {1 / 3.0, 2 / 3.0, 0.5});
  const auto& activates = graph.edges[relation_index(NodeType::kLayer, "activates")];
  CHECK(pairs_of(activates) == Pairs{{1, 0}, {2, 1}});
  check_attributes(activates, 0, {1 / 3.0, 1 / 3.0, 1});
  CHECK(pairs_of(graph.edges[relation_index(NodeType::kActivation, "affects")]) == reversed(pairs_of(activates)));
  const auto& feeds = graph.edges[relation_index(NodeType::kLayer, "feeds")];
  CHECK(pairs_of(feeds) == Pairs{{0, 0}, {1, 0}, {2, 1}});  // the head's output reaches no activation
  check_attributes(feeds, 0, {0, 1 / 3.0, 1});
}

TEST_CASE("edges stay within the nodes, also beyond the caps") {
  const auto seen = observed_many(50, 50);
  GraphNodes nodes;
  find_nodes(seen, nodes);
  HeteroGraph graph;
  build_edges(nodes, graph);
  const std::array<std::size_t, kNodeTypes> counts = {1,
                                                      nodes.seeds.size(),
                                                      nodes.blueprints.size(),
                                                      nodes.layers.size(),
                                                      nodes.activations.size(),
                                                      nodes.parameters.size()};
  for (std::size_t r = 0; r < kRelationTable.size(); ++r) {
    CAPTURE(r);
    const auto sources = counts[static_cast<std::size_t>(kRelationTable[r].source)];
    const auto targets = counts[static_cast<std::size_t>(kRelationTable[r].target)];
    for (const auto& [source, target] : pairs_of(graph.edges[r])) {
      REQUIRE(static_cast<std::size_t>(source) < sources);
      REQUIRE(static_cast<std::size_t>(target) < targets);
    }
    CHECK_FALSE(graph.edges[r].source.empty());
  }
}

TEST_CASE("edges that are built again replace those before") {
  const auto many = observed_many(5, 5), nothing = leyline::Observation();
  GraphNodes nodes;
  HeteroGraph graph;
  find_nodes(many, nodes);
  build_edges(nodes, graph);
  find_nodes(nothing, nodes);
  build_edges(nodes, graph);
  for (const auto& list : graph.edges) CHECK(pairs_of(list).empty());
}

}  // namespace
}  // namespace esper::tamiyo::edges_test
