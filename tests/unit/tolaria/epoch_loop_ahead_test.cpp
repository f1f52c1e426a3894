// A run that prepares ahead, through the epoch loop.

#include <catch2/catch_test_macros.hpp>

#include "device/rng.h"
#include "support/run_fixture.h"

namespace esper::test::epoch_loop_ahead_test {

using step::build_model;
using step::step_settings;
using tolaria::RunOutcome;

namespace {

using leyline::Decision;
using leyline::Observation;
using leyline::SeedOperation;

config::RunConfig growing_config(int ahead) {
  auto config = small_config();
  config.epochs = 28;
  config.host.dropout = 0.2;
  config.data.batch_size = 10;  // the last batch is shorter
  config.step.compile.ahead = ahead;
  config.growth.embargo_epochs = 1;
  return config;
}

Decision grow_and_cull(const Observation& seen) {
  if (seen.current_epoch == 18) return {{germination(seen)}, ""};
  if (seen.current_epoch == 21) return {{seed_command(seen, SeedOperation::kCull, "seed-0001")}, ""};
  return {};
}

struct PreparedRun : SmallRun {
  explicit PreparedRun(int ahead) : SmallRun(growing_config(ahead), grow_and_cull) {
    run.lanes.build = [this] {
      return build_model(facts.config, data.train.shape, step_settings(facts.config, torch::kFloat32), torch::kCPU);
    };
  }
  RunOutcome go_from_the_seed() {
    device::seed_all(facts.config.seed);
    return go();
  }
  // In the whole run.
  double eager_steps() const {
    double steps = 0;
    for (const auto& packet : packets("tolaria")) {
      for (const auto& metric : packet.metrics) {
        const bool of_eager = metric.name == "tolaria.step.lane_steps_total" && metric.attributes.at("lane") == "eager";
        if (of_eager) steps = metric.value;
      }
    }
    return steps;
  }
};

}  // namespace

TEST_CASE("a run with structures prepared ahead trains the same bits, and its changes cost no eager step") {
  PreparedRun with(2), without(0);
  REQUIRE(with.go_from_the_seed().kind == RunOutcome::Kind::kDone);
  REQUIRE(without.go_from_the_seed().kind == RunOutcome::Kind::kDone);
  CHECK(differing(with.bits(), without.bits()) == std::vector<std::string>{});

  const auto swapped = with.events("tolaria.growth_swapped");
  REQUIRE(swapped.size() == 2);
  for (const auto& event : swapped) {
    CHECK(event.attributes.at("prepared") == "true");
    CHECK(event.attributes.at("lane") == "replay");
  }
  CHECK_FALSE(with.events("tolaria.growth_prepared").empty());
  CHECK_FALSE(with.values("tolaria.growth.swap_us").empty());
  CHECK(with.eager_steps() == 6);  // warm-up, recording and check of two shapes
  CHECK(without.eager_steps() > 6);
  CHECK(without.events("tolaria.growth_prepared").empty());
}

}  // namespace esper::test::epoch_loop_ahead_test
