#include "tamiyo/network/policy_network.h"

#include <catch2/catch_test_macros.hpp>

#include "outputs.h"

using namespace esper;
using namespace esper::tamiyo;

TEST_CASE("a graph that the network does not take is refused with the reason") {
  PolicyNetwork network(test::shared_weights());
  const auto without_global = network.run(HeteroGraph{});
  REQUIRE(!without_global);
  CHECK(without_global.error() == "graph: it has 0 global nodes, not 1");
  const auto too_large = network.run(test::random_graph({{1, 1, 1, 300, 1, 1}, 0}, 1));
  REQUIRE(!too_large);
  CHECK(too_large.error() == "graph: 300 layer nodes, the network takes at most 256");
}

TEST_CASE("a graph has the same answer whatever the network ran before") {
  PolicyNetwork network(test::shared_weights());
  CHECK(network.warm_up() > 0);
  const HeteroGraph graph = test::random_graph(test::kGraphShapes[0], 1);
  const auto expected = test::flat(network.run(graph).value());
  for (int seeds = 4; seeds <= 128; seeds *= 2) {  // more caps than are kept
    for (int layers = 4; layers <= 128; layers *= 2)
      REQUIRE(network.run(test::random_graph({{1, seeds, 1, layers, 1, 1}, 0.01}, 1)));
  }
  CHECK(test::flat(network.run(graph).value()) == expected);
}

TEST_CASE("the tiny graph has one node of each type and one edge of each relation") {
  const HeteroGraph graph = tiny_graph();
  for (const NodeTable& table : graph.nodes) CHECK(table.count == 1);
  for (const EdgeList& edges : graph.edges) CHECK(edges.source.size() == 1);
}
