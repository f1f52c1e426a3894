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

LaneStage StepShape::stage() const {
  if (is(StateId::kRecording)) return LaneStage::kWarmedUp;
  const bool is_before = is(StateId::kWarmUp) || is(StateId::kFollowing);
  return program && !is_before ? LaneStage::kRecorded : LaneStage::kNone;
}

Lane* StepShape::candidate() {
  if (auto* checking = std::get_if<Checking>(&state)) return &checking->candidate;
  if (auto* trialling = std::get_if<Trialling>(&state)) return &trialling->candidate;
  return nullptr;
}

}  // namespace esper::lanes
