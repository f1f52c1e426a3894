#include "tamiyo/network/folded_network.h"

#include <catch2/catch_test_macros.hpp>

#include "outputs.h"
#include "tamiyo/network/policy_network.h"
#include "tamiyo/network/unfolded_network.h"

namespace esper::test::folded_network_test {

using namespace esper;
using namespace esper::tamiyo;

namespace {

double error_of(const GraphShape& shape, std::uint64_t seed) {
  static PolicyNetwork network(test::shared_weights());
  const HeteroGraph graph = random_graph(shape, seed);
  const auto folded = network.run(graph);
  INFO(folded.error_or(""));
  REQUIRE(folded);
  return test::largest_output_difference(*folded, to_outputs(run_unfolded(test::shared_weights(), graph).heads));
}

constexpr double kTolerance = 1e-5;

}  // namespace

TEST_CASE("the folded network agrees with the unfolded one") {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (const GraphShape& shape : kGraphShapes) CHECK(error_of(shape, seed) < kTolerance);
  }
}

TEST_CASE("the folded network agrees where relations are empty") {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    CHECK(error_of({{1, 3, 5, 4, 2, 1}, 0.5, true}, seed) < kTolerance);
    CHECK(error_of({{1, 3, 5, 4, 2, 1}, 0.1, false}, seed) < kTolerance);
    CHECK(error_of({{1, 3, 5, 4, 2, 1}, 0}, seed) < kTolerance);
  }
}

TEST_CASE("the folded network agrees where node types are missing") {
  CHECK(error_of({{1, 0, 3, 4, 0, 2}, 0.6}, 1) < kTolerance);
  CHECK(error_of({{1, 2, 0, 0, 0, 0}, 0.6}, 2) < kTolerance);
  CHECK(error_of({{1, 0, 0, 0, 0, 0}, 0.6}, 3) < kTolerance);
}

TEST_CASE("the folded network agrees where every edge is there") {
  CHECK(error_of({{1, 4, 8, 8, 4, 4}, 1.1}, 1) < kTolerance);  // the caps themselves: no padding
}

TEST_CASE("the schedule is ordered and within 0 and 1") {
  at::Tensor output = make_output({1, 4, 4, 4, 4, 4});
  output.index_put_({0, 47}, 0.5);   // start
  output.index_put_({0, 48}, -0.5);  // end
  const PolicyOutputs outputs = read_output(output, {1, 4, 4, 4, 4, 4}, 2, 3);
  CHECK(outputs.schedule == std::array{0.25F, 0.75F});
  CHECK(outputs.seed_scores.size() == 2);
  CHECK(outputs.blueprint_scores.size() == 3);
}

}  // namespace esper::test::folded_network_test
