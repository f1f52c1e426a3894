#pragma once
// The step as one program for every batch size. Training thread.

#include <span>
#include <string>

#include "base/expected.h"
#include "program/symbolic.h"
#include "step/model.h"
#include "step/train_step.h"

namespace esper::lanes {

// Samples in each of the microbatches; 0 if their numbers differ.
std::int64_t batch_size_of(std::span<const step::Microbatch> microbatches);

// Records the step as a program and restores the model. Fails with the reason if it cannot be recorded. warmups: steps
// before the recorded one, at least 1, so that what only a first step creates is not recorded as part of every step.
base::Expected<program::Program> record_undone(step::Model& model, std::span<const step::Microbatch> microbatches,
                                               const step::TrainingForward& forward, int warmups = 1);

// The symbolic program of which `recorded`, the step of these microbatches, is one instance; fails with the reason if
// there is none. Records the step at two other sizes with samples of the example; the model is unchanged.
base::Expected<program::SymbolicProgram> record_for_all_sizes(step::Model& model,
                                                              std::span<const step::Microbatch> example,
                                                              const program::Program& recorded,
                                                              const step::TrainingForward& forward);

}  // namespace esper::lanes
