// Where products of float32 are computed from shorter numbers a right program differs from eager by more than rounding,
// and is used.
#include "support/models/reduced_fp32.h"

#include <catch2/catch_test_macros.hpp>

#include "integration/lanes/lane_room.h"

namespace esper::test::reduced_fp32_test {

using namespace esper;
using namespace esper::tests;
using config::Lane;

namespace {

LaneCase images() {
  LaneCase cnn = lane_case("images", config::HostKind::kCnn, leyline::image_shape(3, 32, 32, 10), 128);
  cnn.config.host.blocks = 6;
  cnn.config.host.pool_layers = 5;
  cnn.config.host.base_channels = 16;
  cnn.config.training.optimizer.momentum = 0.9;
  return cnn;
}

}  // namespace

TEST_CASE("a convolutional network's program is used where float32 is reduced") {
  test::need_python_with_torch();
  if (!test::ReducedFp32::has_units()) SKIP("this processor has no units for bf16");
  const test::ReducedFp32 reduced;
  const LaneRoom room;
  const LaneCase c = images();
  LaneRun run(c, Lane::kCompiled, &LaneRoom::compile_service());
  run.steps(20, c, 1);
  for (const auto& event : run.events_named("tolaria.lane_refused")) {
    UNSCOPED_INFO(event.attributes.at("reason")
                  << " in " << event.attributes.at("tensor") << " by " << event.attributes.at("difference"));
  }
  CHECK(run.steps_in(Lane::kCompiled) > 10);
  CHECK(run.figures().checks > 1);  // the first one alone would have refused it
}

}  // namespace esper::test::reduced_fp32_test
