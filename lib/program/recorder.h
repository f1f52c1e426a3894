#pragma once
// Takes down what a step does, as it does it. Training thread.
//
// The recorder listens in torch's dispatcher below autograd, so it sees forward, backward and optimizer as plain ATen
// calls, whatever C++ called them. The step runs as usual meanwhile: recording one costs a step no result, and its
// memory is given back as in an unrecorded step.

#include <functional>
#include <span>

#include "base/expected.h"
#include "program/external_tensor.h"
#include "program/program.h"

namespace esper::program {

// Runs `step` once and returns it as a program whose inputs are those external tensors of role kInput that it touches,
// in their order and under their names. Views of external tensors that were made before the step become operations of
// the program. Returns instead why there is none: a tensor that comes from no external one (its operator is named), a
// read of the device by the host, an argument that programs do not hold. The step has run to its end in either case.
// What `step` throws passes through.
base::Expected<Program> record(std::span<const ExternalTensor> external_tensors, const std::function<void()>& step);

}  // namespace esper::program
