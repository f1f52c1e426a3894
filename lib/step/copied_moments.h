#pragma once
// Optimizer state of parameters that were born as copies of others (kasmina/block_copy.h, widening.h). Training thread.

#include <span>

#include "step/step_state.h"

namespace esper::step {

// The copies take the moments of their sources, in the scale of their own gradients, and their group takes the sources'
// step count, so that AdamW corrects no bias that these moments do not have. A zeroed copy takes the second moment
// only: at that step count Adam would go up to 7 times lr for a parameter whose second moment is zero. Adds the ids of
// copies to change.copied, those of zeroed ones to change.reset; a moment that the optimizer does not keep adds
// nothing.
void copy_moments(StepState& state, std::span<const kasmina::ParameterCopy> copies, StructureChange& change);

}  // namespace esper::step
