#pragma once
// Takes down what a step does, as it does it. Training thread.
//
// The recorder listens in torch's dispatcher below autograd, so it sees forward, backward and optimizer as plain ATen
// calls, whatever C++ called them. The step runs as usual meanwhile: recording one costs a step no result, and its
// memory is given back as in an unrecorded step.

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/expected.h"
#include "program/program.h"

namespace esper::program {

// The external tensors of a step: every storage that exists before the step and that the step uses, once.
struct ExternalTensor {
  enum class Role {
    kInput,   // state or batch: its contents matter before or after the step
    kScratch  // written before it is read in every step; the program makes its own
  };
  std::string name;
  at::Tensor tensor;  // contiguous from the start of its storage on, or all of what the step may see of it
  Role role = Role::kInput;
};

// Runs `step` once and returns it as a program whose inputs are those roots of role kInput that it
// touches, in their order and under their names. Views of roots
// that were made before the step become operations of the program. Returns instead why there is none: a tensor that
// comes from no root (its operator is named), a read of the device by the host, an argument that programs do not hold.
// The step has run to its end in either case. What `step` throws passes through.
base::Expected<Program> record(std::span<const ExternalTensor> external_tensors, const std::function<void()>& step);

}  // namespace esper::program
