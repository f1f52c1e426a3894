#pragma once
// A program as straight-line Python over torch.ops.aten, for torch's compiler. Any thread.

#include <string>
#include <vector>

#include "program/symbolic.h"

namespace esper::program {

// A module with INPUTS, the (shape, stride, dtype, device) of every input, and `step`, which takes the inputs, mutates
// those that the program writes, and returns one tensor. A program for all batch sizes also has SIZES, the least and
// the most, and BATCH, the inputs whose first dimension is the batch size n; INPUTS is then an example.
std::string python_text(const SymbolicProgram& program);

// The part of that text that defines these.
std::string inputs_text(const SymbolicProgram& program);

// The program's operations as statements of Python, in order. Values are called value_name(), and where the program is
// for all batch sizes `n` is the size.
std::vector<std::string> operation_statements(const SymbolicProgram& program);
std::string value_name(const SymbolicProgram& program, ValueId id);

}  // namespace esper::program
