#pragma once
// What a training step touches besides the network's buffers and scalars and the batch, as whole pieces of memory: the
// inputs of a recorded step. Training thread.

#include <torch/types.h>

#include <string>
#include <vector>

#include "step/step_state.h"

namespace esper::step {

struct StepTensor {
  std::string name;  // ends in .GROUP where there is one per group, ".N" where there is one per count of targets
  torch::Tensor tensor;
  enum class Role {
    kState,     // carried from step to step; the run's, and in checkpoints, whole or as parts
    kScratch,   // written before it is read within each step
    kConstant,  // read only
  } role = Role::kState;
};

// Each piece once, and as a whole: flat tensors, not their views. Parameters that sync_groups moved later, and count
// constants of batch sizes that no step had yet, are not among them: ask again after either.
std::vector<StepTensor> step_tensors(const StepState& state);

}  // namespace esper::step
