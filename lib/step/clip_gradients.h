#pragma once
// The norm of a step's gradients, and clipping by it, as operations of the step: nothing is read from the device.
// Training thread.

#include "step/step_state.h"

namespace esper::step {

// The norm of all gradients, from one pass over them also where there are groups, and those of groups, into the state's
// figures.
void measure_norms(StepState& state);
// After that: scales the gradients down to clip_norm (0: leaves them), and adds the step's figures to the epoch's sums.
// A seed whose gradient does not reach the host is clipped by its own norm, all others by theirs together.
void clip_and_count(StepState& state, double clip_norm);

}  // namespace esper::step
