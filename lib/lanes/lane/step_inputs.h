#pragma once
// The tensors that a program runs on: state in place, and the positions of the batch in the list. Training thread.

#include <span>
#include <vector>

#include "program/program.h"
#include "step/model.h"
#include "step/train_step.h"

namespace esper::lanes {

struct StepInputs {
  // The program must be for the microbatches' size.
  StepInputs(const program::Program& program, const step::Model& model, std::span<const step::Microbatch> microbatches);

  std::vector<torch::Tensor> tensors;  // parallel to the program's inputs
  struct BatchPart {
    std::size_t input;  // index into tensors
    std::size_t microbatch;
    enum class Half { kInputs, kTargets } half;

    const torch::Tensor& of(std::span<const step::Microbatch> microbatches) const {
      return half == Half::kInputs ? microbatches[microbatch].inputs : microbatches[microbatch].targets;
    }
  };
  std::vector<BatchPart> batch;
};

}  // namespace esper::lanes
