#include "lanes/shape/step_shape.h"

#include <catch2/catch_test_macros.hpp>

namespace esper::test::step_shape_test {

using namespace esper;
using namespace esper::lanes;

namespace {

Lane compiled_lane() { return {config::Lane::kCompiled, {}, {nullptr, "key", 1}}; }

LaneProgress progress_in(ShapeState state, bool has_program = true) {
  StepShape shape;
  shape.state = std::move(state);
  if (has_program) shape.program.emplace();
  return shape.progress();
}

}  // namespace

TEST_CASE("the progress of a shape in eager is that of its state") {
  CHECK(progress_in(WarmUp{3}) == LaneProgress{LaneStage::kWarmingUp, 3});
  CHECK(progress_in(Recording{}) == LaneProgress{LaneStage::kWarmingUp, 0});
  CHECK(progress_in(Searching{}) == LaneProgress{LaneStage::kComparing, 0});
  CHECK(progress_in(Checking{compiled_lane(), 2}) == LaneProgress{LaneStage::kComparing, 2});
  CHECK(progress_in(Following{}) == LaneProgress());
  CHECK(progress_in(EagerOnly{}, false) == LaneProgress());
}

TEST_CASE("a rejected program is the progress of a shape in eager, not of one that runs another program") {
  StepShape shape;
  shape.program.emplace();
  shape.search.rejected = true;
  shape.state = Settled{};
  CHECK(shape.progress() == LaneProgress{LaneStage::kRejected});
  shape.incumbent = compiled_lane();
  shape.state = Rechecking{2};
  CHECK(shape.progress() == LaneProgress{LaneStage::kComparing, 2});
}

}  // namespace esper::test::step_shape_test
