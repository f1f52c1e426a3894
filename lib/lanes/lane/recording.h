#pragma once
// The step as one program for every batch size. Training thread.

#include <span>
#include <string>

#include "base/expected.h"
#include "program/symbolic.h"
#include "step/model.h"
#include "step/train_step.h"

namespace esper::lanes {

// Samples in each of the microbatches; 0 where they have different numbers of them.
std::int64_t batch_size_of(std::span<const step::Microbatch> microbatches);

// The step's program with its effects undone: the model is as before. Or why it cannot be recorded. warmups: steps
// before the recorded one, at least one: what only the first step makes must not become a part of every step.
base::Expected<program::Program> record_undone(step::Model& model, std::span<const step::Microbatch> microbatches,
                                               const step::TrainingForward& forward, int warmups = 1);

// The program of which `recorded`, the step of these microbatches, is one instance; or why there is none. Takes the
// step at two other sizes with samples of the example; the model is as before.
base::Expected<program::SymbolicProgram> record_for_all_sizes(step::Model& model,
                                                              std::span<const step::Microbatch> example,
                                                              const program::Program& recorded,
                                                              const step::TrainingForward& forward);

}  // namespace esper::lanes
