#include <catch2/catch_test_macros.hpp>

#include "config/loading/load.h"

namespace esper::test::earlier_versions_test {

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
  CHECK(old.policy.every == esper::base::Length{1, esper::base::Length::Unit::kEpochs});
  CHECK(old.policy.overlap == PolicyOverlap::kOff);
}

}  // namespace esper::test::earlier_versions_test
