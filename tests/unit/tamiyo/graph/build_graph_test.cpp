#include "tamiyo/graph/build_graph.h"

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "unit/tamiyo/observed.h"

namespace esper::tamiyo::build_graph_test {
namespace {

using Catch::Approx;

// With the priors alone.
PolicyGraph graph_of(const leyline::Observation& observation) {
  GraphBuilder builder;
  builder.read(observation);
  return builder.build({});
}

std::vector<float> row_of(const PolicyGraph& built, NodeType type, int row) {
  const auto place = static_cast<std::size_t>(type);
  const auto& features = built.graph.nodes[place].features;
  const auto first = features.begin() + row * kNodeFeatures[place];
  return {first, first + kNodeFeatures[place]};
}

void check_row(const std::vector<float>& row, const std::vector<double>& expected) {
  REQUIRE(row.size() == expected.size());
  for (std::size_t i = 0; i < row.size(); ++i) {
    CAPTURE(i);
    CHECK(row[i] == Approx(expected[i]).epsilon(1e-5).margin(1e-6));
  }
}

bool is_equal(const HeteroGraph& a, const HeteroGraph& b) {
  const auto same_nodes = [](const NodeTable& x, const NodeTable& y) {
    return x.count == y.count && x.features == y.features;
  };
  const auto same_edges = [](const EdgeList& x, const EdgeList& y) {
    return x.source == y.source && x.target == y.target && x.attributes == y.attributes;
  };
  return std::ranges::equal(a.nodes, b.nodes, same_nodes) && std::ranges::equal(a.edges, b.edges, same_edges);
}

bool is_finite(const HeteroGraph& graph) {
  const auto finite = [](const std::vector<float>& values) {
    return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
  };
  return std::ranges::all_of(graph.nodes, finite, &NodeTable::features) &&
         std::ranges::all_of(graph.edges, finite, &EdgeList::attributes);
}

TEST_CASE("a worked example: the run and its seeds") {
  const auto built = graph_of(observed_run());
  const double step = (std::log1p(400) - std::log1p(100)) / (40.0 / 101);
  check_row(row_of(built, NodeType::kGlobal, 0),
            {(0.6 - 0.8) / 0.3, 1, (0.9 - 0.8) / 0.3, 1, (0.7 - 0.8) / 0.3, 1, 2, 1, 1, 1, 0, 0, (4 - 10) / 5.0, step,
             std::tanh(1), (0.2 - 0.5) / 0.25});
  // Learning rate, risk, gradient norm, age, stage, depth, index, blend.
  check_row(row_of(built, NodeType::kSeed, 0), {0, 1, 0.5, 1, -1, 1, -2, 1, 3 / 11.0, 1, 0, 1, 8 / 1024.0, 1});
  check_row(row_of(built, NodeType::kSeed, 1), {0, 0, 0, 0, 0, 0, 0, 0, 1 / 11.0, 1, 1, 1, 0, 1});
}

TEST_CASE("a worked example: what can be grown, and its settings") {
  const auto built = graph_of(observed_run());
  const double norm = std::log1p(129) - std::log1p(2048), lora = std::log1p(1000) - std::log1p(2048);
  const double validation = (0.9 - 0.8) / 0.3, training = (0.7 - 0.8) / 0.3;
  check_row(row_of(built, NodeType::kBlueprint, 0),
            {3 / 1024.0, validation, 1, training, 1, 0.5, 0, norm, 1, 0.1, 0, 0, (0.54 - 0.5) / 0.25, 1});
  check_row(row_of(built, NodeType::kBlueprint, 1),
            {8 / 1024.0, validation, 1, training, 1, 0.2, 0.3, lora, 1, 0.1, 0, 0, (0.99 - 0.5) / 0.25, 1});
  check_row(row_of(built, NodeType::kParameter, 0), {2, 1, 38, 1, (19 - 0.5) / 0.4, 1, (5 - 0.5) / 0.4, 1, 0.35, 0.2});
}

TEST_CASE("a worked example: the host") {
  const auto built = graph_of(observed_run());
  const double parameters = (std::log1p(1000) - std::log1p(1024)) / (512 / 1025.0);
  check_row(row_of(built, NodeType::kLayer, 0), {0, 1, 0, 0, parameters, 1, 0.1, 1 / 1024.0, 1 / 1024.0, 0, 0, 1});
  const double cost = (std::log1p(32) - std::log1p(128)) / (64 / 129.0);
  check_row(row_of(built, NodeType::kActivation, 1), {1 / 1024.0, 1, 0, 0, 0, cost, (0.2665 - 0.5) / 0.2, 0.5});
}

TEST_CASE("every node has its columns, with many seeds and with none") {
  for (const auto& seen : {observed_many(40, 30), observed_many(0, 1), observed_epoch(), leyline::Observation()}) {
    const auto built = graph_of(seen);
    for (std::size_t type = 0; type < kNodeTypes; ++type) {
      const auto& table = built.graph.nodes[type];
      CHECK(table.features.size() == static_cast<std::size_t>(table.count * kNodeFeatures[type]));
    }
    CHECK(built.graph.nodes[0].count == 1);
    CHECK(is_finite(built.graph));
  }
}

TEST_CASE("what is not finite is absent") {
  auto seen = observed_run();
  seen.validation_loss = std::numeric_limits<double>::quiet_NaN();
  seen.training_metrics["loss"] = std::numeric_limits<double>::infinity();
  seen.seed_states[0].gradient_norm = -std::numeric_limits<float>::infinity();
  seen.seed_states[0].figures.contribution_points = std::numeric_limits<double>::quiet_NaN();
  seen.blocks[0].weight_norm = std::numeric_limits<double>::infinity();
  seen.slots[1].step_costs = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  seen.parameters[0].max = std::numeric_limits<double>::infinity();
  Normaliser normaliser;
  GraphBuilder builder;
  builder.read(seen);
  builder.update(normaliser);
  const auto& built = builder.build(normaliser);
  CHECK(is_finite(built.graph));
  const auto global = row_of(built, NodeType::kGlobal, 0), seed = row_of(built, NodeType::kSeed, 0);
  CHECK(global[0] == 0);
  CHECK(global[1] == 0);
  CHECK(global[3] == 0);
  CHECK(seed[3] == 0);
  CHECK(seed[5] == 0);
  CHECK(row_of(built, NodeType::kBlueprint, 0)[13] == 0);  // no score without a risk
  CHECK(normaliser.moments[static_cast<std::size_t>(Statistic::kLoss)] == Normaliser().moments[0]);
}

TEST_CASE("huge values leave the normaliser and the graph finite") {
  auto seen = observed_run();
  seen.validation_loss = 1e300;
  seen.seed_states[0].gradient_norm = std::numeric_limits<float>::max();
  Normaliser normaliser;
  GraphBuilder builder;
  for (int i = 0; i < 100; ++i) {
    builder.read(seen);
    builder.update(normaliser);
  }
  CHECK(is_finite(builder.build(normaliser).graph));
  CHECK(read_normaliser(normaliser_json(normaliser)));
}

TEST_CASE("values are normalised by the statistics after the update") {
  const auto seen = observed_run();
  Normaliser normaliser;
  GraphBuilder builder;
  builder.read(seen);
  builder.update(normaliser);
  const auto row = row_of(builder.build(normaliser), NodeType::kGlobal, 0);
  const double mean = 0.8 + 0.1 * (0.9 - 0.8), variance = 0.9 * (0.09 + 0.1 * 0.01);
  CHECK(row[2] == Approx((0.9 - mean) / std::sqrt(variance)));
}

TEST_CASE("the losses that each blueprint shows count once") {
  Normaliser with, without;
  GraphBuilder builder;
  auto seen = observed_run();
  builder.read(seen);
  builder.update(with);
  seen.slots.clear();
  builder.read(seen);
  builder.update(without);
  const auto place = static_cast<std::size_t>(Statistic::kValidationLoss);
  CHECK(with.moments[place].mean == Approx(without.moments[place].mean));
  CHECK(with.moments[place].variance == Approx(without.moments[place].variance));
}

TEST_CASE("an observation and the normaliser before it give the same graph again, to the bit") {
  GraphBuilder used, fresh;
  Normaliser normaliser;
  const auto many = observed_many(10, 80), run = observed_run();
  for (const auto* seen : {&many, &run}) {
    used.read(*seen);
    used.update(normaliser);
    used.build(normaliser);
  }
  auto saved = *read_normaliser(normaliser_json(normaliser));
  used.read(run);
  used.update(normaliser);
  fresh.read(run);
  fresh.update(saved);
  CHECK(saved == normaliser);
  CHECK(is_equal(used.build(normaliser).graph, fresh.build(saved).graph));
}

TEST_CASE("building leaves the normaliser as it is") {
  Normaliser normaliser;
  GraphBuilder builder;
  const auto seen = observed_run();
  builder.read(seen);
  builder.build(normaliser);
  CHECK(normaliser == Normaliser());
}

}  // namespace
}  // namespace esper::tamiyo::build_graph_test
