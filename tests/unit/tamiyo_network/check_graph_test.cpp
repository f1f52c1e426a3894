#include "tamiyo/network/check_graph.h"

#include <catch2/catch_test_macros.hpp>

#include "tamiyo/network/policy_network.h"

namespace esper::test::check_graph_test {

using namespace esper::tamiyo;

namespace {

std::string problem_of(const HeteroGraph& graph) { return check_graph(graph).error_or("none"); }

}  // namespace

TEST_CASE("a whole graph is accepted, also without nodes of most types") {
  CHECK(problem_of(tiny_graph()) == "none");
  HeteroGraph lonely;
  lonely.nodes[0] = {1, std::vector<float>(16)};
  CHECK(problem_of(lonely) == "none");
}

TEST_CASE("a graph has exactly one global node") {
  CHECK(problem_of(HeteroGraph{}) == "graph: it has 0 global nodes, not 1");
}

TEST_CASE("a table of features has the length of its count") {
  HeteroGraph graph = tiny_graph();
  graph.nodes[3].features.pop_back();
  CHECK(problem_of(graph) == "graph: 1 layer nodes of 12 features have 11 numbers");
  graph = tiny_graph();
  graph.nodes[1].count = -1;
  CHECK(problem_of(graph) == "graph: -1 seed nodes of 14 features have 14 numbers");
}

TEST_CASE("edges join nodes that exist") {
  for (const std::int32_t node : {-1, 1}) {
    HeteroGraph graph = tiny_graph();
    graph.edges[4].target[0] = node;
    CHECK(problem_of(graph) == "graph: seed___peer___seed has an edge of a node that does not exist");
    graph = tiny_graph();
    graph.edges[20].source[0] = node;
    CHECK(problem_of(graph) == "graph: layer___feeds___activation has an edge of a node that does not exist");
  }
}

TEST_CASE("each edge has two ends and its attributes") {
  HeteroGraph graph = tiny_graph();
  graph.edges[0].target.clear();
  CHECK(problem_of(graph) == "graph: global___influences___seed has 1 sources, 0 targets and 3 attributes");
  graph = tiny_graph();
  graph.edges[0].attributes.pop_back();
  CHECK(problem_of(graph) == "graph: global___influences___seed has 1 sources, 1 targets and 2 attributes");
}

}  // namespace esper::test::check_graph_test
