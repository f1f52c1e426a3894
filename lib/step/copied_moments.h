#pragma once
// Optimizer state of parameters that were born as copies of others (kasmina/seed/block_copy.h, widening.h). Training
// thread.

#include <span>

#include "step/step_state.h"

namespace esper::step {

// The copies take the moments of their sources, in the scale of their own gradients, and their group takes the sources'
// step count, so that AdamW corrects no bias that these moments do not have. A zeroed copy takes the second moment
// only: at that step count Adam would go up to 7 times lr for a parameter whose second moment is zero. A copy with a
// parameter that has no moments to take (the gate of a composition, a copy of a frozen parameter) begins at a step
// count of 1 / (1 - beta1) at most, its moments scaled so that corrected for bias they are the sources': from there
// that parameter goes 0.5 lr at first and 1.2 lr at most. Adds the ids of copies to change.copied, those of zeroed ones
// to change.reset; a moment that the optimizer does not keep adds nothing.
void copy_moments(StepState& state, std::span<const kasmina::ParameterCopy> copies, StructureChange& change);

}  // namespace esper::step
