#include "tamiyo/network/padded_network.h"

#include <catch2/catch_test_macros.hpp>

#include "outputs.h"

namespace esper::test::padded_network_test {

using namespace esper;
using namespace esper::tamiyo;

namespace {

const FoldedWeights& folded() {
  static const FoldedWeights kFolded = fold(test::shared_weights());
  return kFolded;
}

HeteroGraph small_graph(std::uint64_t seed) { return random_graph({{1, 2, 4, 3, 1, 1}, 0.5}, seed); }

constexpr Caps kSmall = {1, 4, 4, 4, 4, 4}, kLarge = {1, 8, 32, 16, 4, 8};

}  // namespace

TEST_CASE("padding changes nothing") {
  PaddedNetwork small(folded(), kSmall), large(folded(), kLarge), exact(folded(), {1, 2, 4, 3, 1, 1});
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const auto expected = exact.run(small_graph(seed)).value();
    CHECK(test::largest_output_difference(small.run(small_graph(seed)).value(), expected) < 1e-6);
    CHECK(test::largest_output_difference(large.run(small_graph(seed)).value(), expected) < 1e-6);
  }
}

TEST_CASE("a graph leaves nothing behind for the next one") {
  PaddedNetwork used(folded(), kLarge), fresh(folded(), kLarge);
  REQUIRE(used.run(random_graph({{1, 8, 32, 16, 4, 8}, 1.1}, 5)));
  CHECK(test::flat(used.run(small_graph(1)).value()) == test::flat(fresh.run(small_graph(1)).value()));
}

TEST_CASE("an edge twice is refused, and the next graph is answered as ever") {
  PaddedNetwork network(folded(), kSmall);
  const auto expected = test::flat(network.run(small_graph(1)).value());
  HeteroGraph graph = small_graph(1);
  graph.edges[0] = {{0, 0}, {1, 1}, {1, 2, 3, 4, 5, 6}};
  const auto refused = network.run(graph);
  REQUIRE(!refused);
  CHECK(refused.error() == "graph: global___influences___seed has the same edge twice");
  CHECK(test::flat(network.run(small_graph(1)).value()) == expected);
}

TEST_CASE("the recorded network has the eager one's bits") {
  PaddedNetwork eager(folded(), kSmall), recorded(folded(), kSmall);
  const auto done = recorded.record();
  INFO(done.error_or(""));
  REQUIRE(done);
  CHECK(recorded.form() == NetworkForm::kReplay);
  CHECK(!recorded.program().operations.empty());
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    CHECK(test::flat(recorded.run(small_graph(seed)).value()) == test::flat(eager.run(small_graph(seed)).value()));
  }
}

}  // namespace esper::test::padded_network_test
