#include "tamiyo/graph/coverage.h"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <string>

#include "tamiyo/graph/build_graph.h"
#include "tamiyo/graph/feature.h"
#include "unit/tamiyo/observed.h"

namespace esper::tamiyo::coverage_test {
namespace {

Coverage coverage_of(const leyline::Observation& observation) {
  GraphBuilder builder;
  builder.read(observation);
  return builder.build({}).coverage;
}

Share share_of(const Coverage& coverage, NodeType type, std::string_view feature) {
  const auto features = features_of(type);
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (features[i].name == feature) return coverage.features[static_cast<std::size_t>(type)][i];
  }
  return {-1, -1};
}

std::map<std::string, Share, std::less<>> families_of(const Coverage& coverage) {
  std::map<std::string, Share, std::less<>> families;
  for (const auto& [name, share] : family_coverage(coverage)) families[std::string(name)] = share;
  return families;
}

TEST_CASE("each feature counts the nodes that have it") {
  const auto coverage = coverage_of(observed_run());
  CHECK(share_of(coverage, NodeType::kGlobal, "loss") == Share{1, 1});
  CHECK(share_of(coverage, NodeType::kGlobal, "hook_latency_ms") == Share{0, 1});
  CHECK(share_of(coverage, NodeType::kSeed, "age") == Share{1, 2});
  CHECK(share_of(coverage, NodeType::kSeed, "stage") == Share{2, 2});
  CHECK(share_of(coverage, NodeType::kLayer, "weight_norm") == Share{0, 3});
}

TEST_CASE("a family is the sum of its features") {
  const auto coverage = coverage_of(observed_run());
  CHECK(node_coverage(coverage, NodeType::kGlobal) == Share{9, 10});
  CHECK(node_coverage(coverage, NodeType::kSeed) == Share{8 + 3, 16});
  CHECK(families_of(coverage).at("node.global").ratio() == Catch::Approx(0.9));
}

TEST_CASE("a relation counts the nodes that it leaves from") {
  const auto families = families_of(coverage_of(observed_run()));
  CHECK(families.at("edges.layer_connects") == Share{2, 3});
  CHECK(families.at("edges.seed_monitors") == Share{2, 2});
  CHECK(families.at("edges.layer_activates") == Share{2, 3});
  CHECK(families.at("edges.blueprint_composes") == Share{2, 2});
  CHECK(families.at("edges.global_influences") == Share{1, 1});
}

TEST_CASE("the families have the names of telemetry") {
  const auto families = families_of(coverage_of(observed_run()));
  REQUIRE(families.size() == kFamilies);
  for (const auto* name : {"node.seed", "node.layer", "node.activation", "node.parameter", "node.blueprint",
                           "node.global", "edges.layer_connects", "edges.seed_monitors", "edges.layer_feeds",
                           "edges.layer_activates", "edges.activation_configures", "edges.parameter_modulates",
                           "edges.blueprint_composes", "edges.parameter_targets", "edges.global_influences",
                           "edges.seed_reports", "edges.global_operates", "edges.layer_feedback"}) {
    CAPTURE(name);
    CHECK(families.contains(name));
  }
}

TEST_CASE("what has no nodes has a share of nothing") {
  const auto coverage = coverage_of(observed_epoch());
  CHECK(node_coverage(coverage, NodeType::kSeed) == Share{0, 0});
  CHECK(node_coverage(coverage, NodeType::kSeed).ratio() == 0);
  CHECK(families_of(coverage).at("edges.seed_monitors") == Share{0, 0});
  CHECK(families_of(coverage).at("edges.global_influences") == Share{0, 1});
}

TEST_CASE("the whole is the sum over all nodes") {
  const auto coverage = coverage_of(observed_run());
  Share sum;
  for (const auto& [type, name] : names(NodeType{})) {
    const auto share = node_coverage(coverage, type);
    sum.present += share.present, sum.total += share.total;
  }
  CHECK(feature_coverage(coverage) == sum);
  CHECK(sum.total == 10 + 2 * 8 + 2 * 10 + 3 * 9 + 2 * 6 + 2 * 6);
}

TEST_CASE("nodes that were left out are counted") {
  CHECK(coverage_of(observed_many(60, 10)).left_out[static_cast<std::size_t>(NodeType::kSeed)] == 6);
  CHECK(coverage_of(observed_run()).left_out == std::array<int, kNodeTypes>{});
}

}  // namespace
}  // namespace esper::tamiyo::coverage_test
