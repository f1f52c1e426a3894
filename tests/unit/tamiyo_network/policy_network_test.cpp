#include "tamiyo/network/policy_network.h"

#include <catch2/catch_test_macros.hpp>

#include "outputs.h"
#include "tamiyo/gnn_controller.h"
#include "tamiyo/network/initial_weights.h"
#include "unit/tamiyo/simulated_run.h"

namespace esper::test::policy_network_test {

using namespace esper;
using namespace esper::tamiyo;

TEST_CASE("a graph that the network does not take is refused with the reason") {
  PolicyNetwork network(test::shared_weights());
  const auto without_global = network.run(HeteroGraph{});
  REQUIRE(!without_global);
  CHECK(without_global.error() == "graph: it has 0 global nodes, not 1");
  const auto too_large = network.run(random_graph({{1, 1, 1, 300, 1, 1}, 0}, 1));
  REQUIRE(!too_large);
  CHECK(too_large.error() == "graph: 300 layer nodes, the network takes at most 256");
}

TEST_CASE("a graph has the same answer whatever the network ran before") {
  PolicyNetwork network(test::shared_weights());
  CHECK(network.warm_up() > 0);
  const HeteroGraph graph = random_graph(kGraphShapes[0], 1);
  const auto expected = test::flat(network.run(graph).value());
  for (int seeds = 4; seeds <= 128; seeds *= 2) {  // more caps than are kept
    for (int layers = 4; layers <= 128; layers *= 2)
      REQUIRE(network.run(random_graph({{1, seeds, 1, layers, 1, 1}, 0.01}, 1)));
  }
  CHECK(test::flat(network.run(graph).value()) == expected);
}

TEST_CASE("the tiny graph has one node of each type and one edge of each relation") {
  const HeteroGraph graph = tiny_graph();
  for (const NodeTable& table : graph.nodes) CHECK(table.count == 1);
  for (const EdgeList& edges : graph.edges) CHECK(edges.source.size() == 1);
}

TEST_CASE("a controller with a fresh network waits; one whose policy head prefers to germinate does") {
  for (const bool germinates : {false, true}) {
    auto weights = initial_weights(1);
    if (germinates) weights.at("policy_logits.bias").mutable_data_ptr<float>()[1] = 5;
    PolicyNetwork network(weights);
    GnnSettings settings;
    settings.rules.training = config::SeedTraining::kStraightThrough;
    GnnController policy([&](const HeteroGraph& graph) { return network.run(graph); }, settings);
    SimulatedRun run({"norm", "lora"});
    run.promise = {{"norm", 3.0}, {"lora", 3.0}};
    const auto decision = run.step(policy);
    CHECK(decision.commands.size() == (germinates ? 1 : 0));
    REQUIRE(decision.assessment);
    CHECK(decision.assessment->value.has_value());
    for (int epoch = 2; epoch < 20; ++epoch) run.step(policy);
    CHECK(run.history.empty() != germinates);
  }
}

}  // namespace esper::test::policy_network_test
