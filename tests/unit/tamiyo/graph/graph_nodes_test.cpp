#include "tamiyo/graph/graph_nodes.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "tamiyo/graph/node_caps.h"
#include "unit/tamiyo/observed.h"

namespace esper::tamiyo::graph_nodes_test {
namespace {

using Catch::Approx;
using leyline::Stage;

GraphNodes nodes_of(const leyline::Observation& observation) {
  GraphNodes nodes;
  find_nodes(observation, nodes);
  return nodes;
}

int left_out(const GraphNodes& nodes, NodeType type) { return nodes.left_out[static_cast<std::size_t>(type)]; }

TEST_CASE("live seeds and empty slots are the seed nodes, what fits the slots are the blueprint nodes") {
  const auto seen = observed_run();
  const auto nodes = nodes_of(seen);
  const auto& [seeds, blueprints, fits] = nodes.candidates;
  REQUIRE(seeds.size() == 2);
  CHECK(seeds[0].seed_id == "seed-1");
  CHECK(seeds[0].slot == "r0c0");
  CHECK(seeds[0].stage == Stage::kTraining);
  CHECK(seeds[1].seed_id.empty());
  CHECK(seeds[1].slot == "r0c1");
  CHECK(seeds[1].stage == Stage::kDormant);
  CHECK(blueprints == std::vector<std::string>{"norm", "lora"});  // the catalogue's order
  CHECK(fits == std::vector<std::vector<int>>{{}, {0, 1}});
  CHECK(nodes.layers.size() == 3);
  CHECK(nodes.activations.size() == 2);
  CHECK(nodes.parameters.size() == 2);
}

TEST_CASE("a slot's own blueprints fit it, and no others") {
  auto seen = observed_many(0, 3);
  seen.slots[1].blueprints = {"norm"};
  seen.slots[2].blueprints = {};
  const auto nodes = nodes_of(seen);
  CHECK(nodes.candidates.fits == std::vector<std::vector<int>>{{0, 1}, {0}, {}});
  CHECK_FALSE(nodes.seeds[2].may_blend);
}

TEST_CASE("fossils and blocked slots are no candidates") {
  auto seen = observed_run();
  seen.seed_states[0].stage = Stage::kFossilized;
  seen.slots[0].stage = Stage::kFossilized;
  seen.slots[1].stage = Stage::kEmbargoed;
  const auto nodes = nodes_of(seen);
  CHECK(nodes.candidates.seeds.empty());
  CHECK(nodes.candidates.blueprints.empty());
  CHECK(nodes.global[0].growing_seeds == 0);
}

TEST_CASE("a fossil shows how far its blueprint came") {
  auto seen = observed_run();
  seen.seed_states[0].stage = Stage::kFossilized;
  const auto nodes = nodes_of(seen);
  CHECK(nodes.blueprints[0].stage == Stage::kUnknown);
  CHECK(nodes.blueprints[1].stage == Stage::kFossilized);
}

TEST_CASE("a blueprint that the catalogue lacks comes last") {
  auto seen = observed_run();
  seen.slots[1].blueprints = {"made_up", "lora"};
  const auto nodes = nodes_of(seen);
  CHECK(nodes.candidates.blueprints == std::vector<std::string>{"lora", "made_up"});
  CHECK(nodes.blueprints[1].facts == nullptr);
}

TEST_CASE("a blueprint costs what it costs in the slot where it costs least") {
  auto seen = observed_many(0, 2);
  seen.slots[1].step_costs = {std::nan(""), 3.0};
  seen.slots[1].parameters = {500, 700};
  const auto nodes = nodes_of(seen);
  CHECK(nodes.blueprints[0].parameters == 129);  // norm
  CHECK(nodes.blueprints[0].risk == Approx(0.5));
  CHECK(nodes.blueprints[1].parameters == 500);  // lora
  CHECK(nodes.blueprints[1].risk == Approx(0.2));
}

TEST_CASE("a seed's risk is the chance that its measured worth is below zero") {
  auto seen = observed_run();
  auto& figures = seen.seed_states[0].figures;
  figures.contribution_points = 1.959964;
  CHECK(nodes_of(seen).seeds[0].risk == Approx(0.025).epsilon(1e-4));
  figures.worth.loss = -0.2;  // against a control: counts before the contribution
  figures.worth.loss_stderr = 0;
  CHECK(nodes_of(seen).seeds[0].risk == 1);
  figures.worth = {};
  figures.contribution_points.reset();
  CHECK(std::isnan(nodes_of(seen).seeds[0].risk));
}

TEST_CASE("a run that bars germination lets no slot blend") {
  auto seen = observed_run();
  CHECK(nodes_of(seen).seeds[1].may_blend);
  seen.germination_barred = "the control takes too much memory";
  CHECK_FALSE(nodes_of(seen).seeds[1].may_blend);
  CHECK(nodes_of(seen).seeds[0].may_blend);  // it grows already
}

TEST_CASE("an observation of nothing has the global node alone") {
  const leyline::Observation seen;
  const auto nodes = nodes_of(seen);
  CHECK(nodes.seeds.empty());
  CHECK(nodes.blueprints.empty());
  CHECK(nodes.layers.empty());
  CHECK(nodes.activations.empty());
  CHECK(nodes.parameters.empty());
}

TEST_CASE("seeds beyond the cap are left out, the last empty slots first") {
  const auto seen = observed_many(60, 10);
  const auto nodes = nodes_of(seen);
  REQUIRE(nodes.candidates.seeds.size() == 64);
  CHECK(nodes.candidates.seeds[59].seed_id == "seed-59");
  CHECK(nodes.candidates.seeds[63].slot == "r0c63");
  CHECK(nodes.candidates.fits.size() == 64);
  CHECK(left_out(nodes, NodeType::kSeed) == 6);
  CHECK(nodes.global[0].growing_seeds == 60);
}

TEST_CASE("layers that a slot follows are kept before others") {
  auto seen = observed_many(0, 100);
  for (int i = 0; i < 60; ++i) seen.blocks[static_cast<std::size_t>(i)].slot.clear();
  const auto nodes = nodes_of(seen);
  REQUIRE(nodes.layers.size() == 64);
  CHECK(nodes.activations.size() == 64);
  CHECK(nodes.layers[23].block == &seen.blocks[23]);
  CHECK(nodes.layers[24].block == &seen.blocks[60]);
  CHECK(nodes.layers[63].block == &seen.blocks[99]);
  CHECK(nodes.layers[63].depth == 1);
  CHECK(left_out(nodes, NodeType::kLayer) == 36);
}

TEST_CASE("blueprints and parameters beyond their caps are left out") {
  auto seen = observed_run();
  seen.slots[1].blueprints.clear();
  for (int i = 0; i < 40; ++i) seen.slots[1].blueprints.push_back("made_up" + std::to_string(10 + i));
  seen.parameters.assign(20, {"alpha_target", 0, 1, 1});
  const auto nodes = nodes_of(seen);
  CHECK(nodes.blueprints.size() == 32);
  CHECK(nodes.candidates.blueprints.back() == "made_up41");
  CHECK(nodes.candidates.fits[1].size() == 32);
  CHECK(left_out(nodes, NodeType::kBlueprint) == 8);
  CHECK(nodes.parameters.size() == 16);
  CHECK(left_out(nodes, NodeType::kParameter) == 4);
}

TEST_CASE("nodes that are found again replace those before") {
  const auto many = observed_many(10, 80), few = observed_run();
  GraphNodes nodes;
  find_nodes(many, nodes);
  find_nodes(few, nodes);
  CHECK(nodes.seeds.size() == 2);
  CHECK(nodes.candidates.fits == std::vector<std::vector<int>>{{}, {0, 1}});
  CHECK(nodes.global[0].growing_seeds == 1);
  CHECK(left_out(nodes, NodeType::kLayer) == 0);
}

}  // namespace
}  // namespace esper::tamiyo::graph_nodes_test
