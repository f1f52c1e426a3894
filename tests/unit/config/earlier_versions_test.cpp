#include "config/writing/earlier_versions.h"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "config/loading/load.h"
#include "config/writing/free_fields.h"
#include "config/writing/write.h"

namespace esper::test::earlier_versions_test {

using namespace esper;
using namespace esper::config;

TEST_CASE("a run of a version without these fields goes on as it did") {
  const auto old = read_run_config_text("growth: {isolate: true}", "config.yaml", {}, DocumentKind::kOfRun).config;
  CHECK(old.growth.training == SeedTraining::kStraightThrough);
  CHECK(old.growth.gates.evidence == Evidence::kAblation);
  CHECK(old.policy.heuristic.window_epochs == 1);
  CHECK(old.policy.heuristic.min_share_left == 0);
  CHECK(old.growth.kind == GrowthKind::kModules);
  CHECK(old.host.residual_blocks == 0);
  CHECK(old.data.epoch_samples == 0);
  CHECK_FALSE(old.data.standardize_targets);
  CHECK(old.policy.every == esper::base::Length{1, esper::base::Length::Unit::kEpochs});
  CHECK(old.policy.overlap == PolicyOverlap::kOff);
}

TEST_CASE(
    "the hash of a training without a field of its own for the loss scaler is as before; other values change it") {
  const auto hash_of = [](const std::string& text) { return training_hash(read_run_config_text(text, "f").config); };
  const auto config = read_run_config_text("name: a", "f").config;
  auto json = resolved_json(config);
  REQUIRE(json.at("training").contains("grad_scaler"));
  erase_earlier_behaviour(json);
  CHECK_FALSE(json.at("training").contains("grad_scaler"));
  CHECK(hash_of("training: {grad_scaler: {growth_interval: 2000}}") == hash_of("name: a"));
  CHECK(hash_of("training: {grad_scaler: {growth_interval: 100}}") != hash_of("name: a"));
  CHECK(hash_of("training: {grad_scaler: {init_scale: 1024}}") != hash_of("name: a"));
}

TEST_CASE("the hash of a training has the fields that are no more, so that a run of an earlier version goes on") {
  RunConfig config;
  config.policy.kind = PolicyKind::kGnn;  // which the service asks, so that its settings count
  auto json = resolved_json(config);
  erase_free_fields(config, json, FreeAsOf::kNow);
  erase_earlier_behaviour(json);
  CHECK(training_hash(config) != base::fnv1a(json.dump()));
  json.at("policy").at("reports")["retention"] = "24h";
  CHECK(training_hash(config) == base::fnv1a(json.dump()));
}

}  // namespace esper::test::earlier_versions_test
