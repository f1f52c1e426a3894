#include "lanes/shape/step_shape.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/names.h"

namespace esper::lanes {

void StepShape::enter(ShapeEvent event, ShapeState next) {
  const StateId from = id_of(state), to = id_of(next);
  ESPER_CHECK(next_state(from, event) == to, fmt::format("a shape in state {} cannot enter {} when it is {}",
                                                         base::name_of(from), base::name_of(to), base::name_of(event)));
  state = std::move(next);
}

LaneProgress StepShape::progress() const {
  if (search.rejected && !runs_compiled()) return {.stage = LaneStage::kRejected};
  if (is(StateId::kRecording)) return {.stage = LaneStage::kWarmingUp};
  if (const auto* warm_up = std::get_if<WarmUp>(&state))
    return {.stage = LaneStage::kWarmingUp, .count = warm_up->left};
  if (!program || is(StateId::kFollowing)) return {};
  LaneProgress comparing{.stage = LaneStage::kComparing};
  if (const auto* checking = std::get_if<Checking>(&state)) comparing.count = checking->near_misses;
  if (const auto* rechecking = std::get_if<Rechecking>(&state)) comparing.count = rechecking->near_misses;
  return comparing;
}

Lane* StepShape::candidate() {
  if (auto* checking = std::get_if<Checking>(&state)) return &checking->candidate;
  if (auto* trialling = std::get_if<Trialling>(&state)) return &trialling->candidate;
  return nullptr;
}

}  // namespace esper::lanes
