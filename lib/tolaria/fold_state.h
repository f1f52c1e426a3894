#pragma once
// What the optimizer and the averages keep for the host's layer that takes a fossil in. Training thread.
//
// Averages: the average of the layer as it is with the fossil's average folded in. Moments: those that the gradients of
// the new weight would have left (kasmina/fold.h). Where the slot's map has no inverse worth its name, the first moment
// of the weight starts at zero and the second stays: what is kept belongs to other directions, and a first moment of
// zero makes no step larger than the gradients to come.

#include <vector>

#include "leyline/command.h"
#include "tolaria/model.h"

namespace esper::tolaria {

struct FoldedState {
  std::vector<kasmina::NamedTensor> averages, first_moments, second_moments;  // by the parameter's id
  bool moments_fit = true;                                                    // false: the first starts at zero
};

// As it will be once the command was carried out; empty for a command that folds nothing. Takes all the memory that is
// needed. The model is unchanged.
FoldedState folded_state(Model& model, const leyline::AdaptationCommand& command);

// Takes no memory.
void write_folded(StepState& state, const FoldedState& folded, StructureChange& change);

}  // namespace esper::tolaria
