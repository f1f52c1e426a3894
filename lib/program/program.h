#pragma once
// A training step as a value: a straight list of ATen operations over named tensors. Plain data; any thread.

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/expected.h"

namespace esper::program {

using ValueId = std::int32_t;  // index into Program::values
inline constexpr ValueId kNoValue = -1;

struct TensorType {
  c10::ScalarType dtype = c10::ScalarType::Float;
  c10::DeviceType device = c10::DeviceType::CPU;
  std::vector<std::int64_t> sizes, strides;
  bool operator==(const TensorType&) const = default;
};

// Arguments as the operator's schema types them; enumerations (dtype, layout, memory format) are whole numbers.
struct TensorArgument {
  ValueId id = kNoValue;  // kNoValue: an undefined or absent tensor
  bool operator==(const TensorArgument&) const = default;
};
struct TensorListArgument {
  std::vector<ValueId> ids;
  bool operator==(const TensorListArgument&) const = default;
};
struct DeviceArgument {
  std::string name;  // of the type alone: "cuda" is the current GPU of the thread that runs the program
  bool operator==(const DeviceArgument&) const = default;
};
using Argument =
    std::variant<std::monostate, TensorArgument, TensorListArgument, bool, std::int64_t, double,
                 std::vector<std::int64_t>, std::vector<double>, std::vector<bool>, std::string, DeviceArgument>;

// One call. `results` is parallel to the schema's returns: a tensor, a list of tensors, or nothing (monostate) where
// the return is no tensor. A return that the schema marks as written names the value of the argument it is.
struct Operation {
  std::string name;  // "aten::add_.Tensor"
  std::vector<Argument> arguments;
  std::vector<Argument> results;
  bool operator==(const Operation&) const = default;
};

enum class Access { kRead, kWritten };

// A tensor that exists before the step: state, or a part of the batch. Inputs are the first values.
struct Input {
  std::string name;
  Access access = Access::kRead;
  bool operator==(const Input&) const = default;
};

struct Program {
  std::vector<Input> inputs;
  std::vector<TensorType> values;  // of the inputs, then in order of first definition
  std::vector<Operation> operations;
  bool operator==(const Program&) const = default;
};

// The values that an argument names, kNoValue among them; none where it is no tensor.
std::vector<ValueId> ids_of(const Argument& argument);

// For users: one line an operation.
std::string to_text(const Program& program);

// Lossless, as one JSON document; what differs in the program differs in the text.
std::string save_program(const Program& program);

// Can the program be run? If so every value is made before it is used, and every operator exists in this torch and
// takes these arguments.
base::Expected<void> verify(const Program& program);

}  // namespace esper::program
