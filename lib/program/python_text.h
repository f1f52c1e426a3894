#pragma once
// A program as straight-line Python over torch.ops.aten, for torch's compiler. Any thread.

#include <string>

#include "program/program.h"

namespace esper::program {

// A module with INPUTS, the (shape, stride, dtype, device) of every input, and `step`, which takes the inputs, mutates
// those that the program writes, and returns one tensor.
std::string python_text(const Program& program);

// The part of that text that defines INPUTS.
std::string inputs_text(const Program& program);

}  // namespace esper::program
