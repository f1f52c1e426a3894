#include "tamiyo/network/caps.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::caps_test {

using namespace esper::tamiyo;

namespace {

HeteroGraph graph_of(const Caps& counts) {
  HeteroGraph graph;
  for (std::size_t type = 0; type < kNodeTypes; ++type) graph.nodes[type].count = counts[type];
  return graph;
}

}  // namespace

TEST_CASE("caps are powers of two from 4 on and half-way between them, and one global node") {
  CHECK(caps_for(graph_of({1, 0, 4, 5, 8, 9})).value() == Caps{1, 4, 4, 8, 8, 12});
  CHECK(caps_for(graph_of({1, 12, 13, 17, 24, 25})).value() == Caps{1, 12, 16, 24, 24, 32});
  CHECK(caps_for(graph_of({1, 1, 36, 49, 193, 256})).value() == Caps{1, 4, 48, 64, 256, 256});
}

TEST_CASE("a graph beyond the largest cap is refused with its node type") {
  const auto caps = caps_for(graph_of({1, 1, 257, 1, 1, 1}));
  REQUIRE(!caps);
  CHECK(caps.error() == "graph: 257 blueprint nodes, the network takes at most 256");
}

TEST_CASE("caps as text") {
  CHECK(to_text({1, 4, 8, 16, 4, 4}) == "1 global, 4 seed, 8 blueprint, 16 layer, 4 activation, 4 parameter");
}

}  // namespace esper::test::caps_test
