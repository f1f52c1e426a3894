#pragma once
// The optimizer's and the averages' state of the host's layer into which a fossil is folded, or whose columns a
// widening parts with when it fossilises. Training thread.
//
// Averages: the layer's average with the fossil's average folded in. Moments: those that the gradients of the new
// weight would have left (kasmina/fold/fold.h). If the slot's map is nearly singular, or too large to be inverted while
// training waits, the first moment of the weight starts at zero and the second is the layer's largest everywhere: the
// old moments belong to other directions, and in those that the map suppressed a second moment near zero would let Adam
// step several times lr.
//
// A widening's columns V share with the host's W (kasmina/seed/widening.h). Its W - V has the average of W minus that
// of V, and W's moments: its gradient is as before. The gradient of V becomes the sum of both, so its first moment does
// too, which is exact, and its second moment, a sum of squares, is that of gradients that are not correlated.

#include <vector>

#include "leyline/command.h"
#include "step/model.h"

namespace esper::tolaria {

struct FoldedState {
  std::vector<kasmina::NamedTensor> averages, first_moments, second_moments;  // by the parameter's id
  bool moments_fit = true;                                                    // false: they are reset
  bool parts = false;                                                         // of a widening that becomes the host's
};

// The state after the command; empty for a command that folds nothing, or that the gate will reject. Allocates all the
// memory that is needed. The model is unchanged.
FoldedState folded_state(step::Model& model, const leyline::AdaptationCommand& command);

// Allocates nothing.
void write_folded(step::StepState& state, const FoldedState& folded, step::StructureChange& change);

}  // namespace esper::tolaria
