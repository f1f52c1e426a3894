#pragma once
// What the optimizer and the averages keep for the host's layer that takes a fossil in. Training thread.
//
// Averages: the average of the layer as it is with the fossil's average folded in. Moments: those that the gradients of
// the new weight would have left (kasmina/fold.h). Where the slot's map has no inverse worth its name, or is too large
// to be inverted while training waits, the first moment of the weight starts at zero and the second is the layer's
// largest everywhere: what is kept belongs to other directions, and in those that the map shut a second moment near
// zero would let Adam step several times lr.

#include <vector>

#include "leyline/command.h"
#include "step/model.h"

namespace esper::tolaria {

struct FoldedState {
  std::vector<kasmina::NamedTensor> averages, first_moments, second_moments;  // by the parameter's id
  bool moments_fit = true;                                                    // false: they start anew
};

// As it will be once the command was carried out; empty for a command that folds nothing, and where the gate will
// refuse it. Takes all the memory that is needed. The model is unchanged.
FoldedState folded_state(step::Model& model, const leyline::AdaptationCommand& command);

// Takes no memory.
void write_folded(step::StepState& state, const FoldedState& folded, step::StructureChange& change);

}  // namespace esper::tolaria
