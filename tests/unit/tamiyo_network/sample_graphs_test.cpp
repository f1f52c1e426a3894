#include "tamiyo/network/sample_graphs.h"

#include <catch2/catch_test_macros.hpp>

#include "tamiyo/network/check_graph.h"

namespace esper::test::sample_graphs_test {

using namespace esper::tamiyo;

TEST_CASE("the sample graphs have 8, 30 and 100 nodes, are ones that the network takes, and come again") {
  constexpr std::array kNodes = {8, 30, 100};
  for (std::size_t i = 0; i < kGraphShapes.size(); ++i) {
    const HeteroGraph graph = random_graph(kGraphShapes[i], 1), again = random_graph(kGraphShapes[i], 1);
    CHECK(count_nodes(graph) == kNodes[i]);
    CHECK(check_graph(graph).has_value());
    CHECK(graph.nodes[0].features == again.nodes[0].features);
    CHECK(graph.edges[0].attributes == again.edges[0].attributes);
  }
}

TEST_CASE("no sample weight is zero or constant") {
  for (const auto& [name, tensor] : dense_weights()) {
    INFO(name);
    CHECK(tensor.abs().max().item<float>() > 0);
    if (tensor.numel() > 1) CHECK(tensor.min().item<float>() < tensor.max().item<float>());
  }
}

}  // namespace esper::test::sample_graphs_test
