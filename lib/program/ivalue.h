#pragma once
// Between a program's arguments and the dispatcher's IValues. Training thread.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <functional>

#include "program/program.h"

namespace esper::program {

// The operator of that name ("aten::mul.Tensor"); empty where this torch has none.
std::optional<c10::OperatorHandle> find_operator(const std::string& name);
std::string operator_name(const c10::OperatorHandle& op);

// `name_tensor` gives a tensor its value; it is not called for undefined ones. Throws Error{kBug} where the argument
// is of a kind that programs do not hold (a generator, a stream, ...).
using NameTensor = std::function<ValueId(const at::Tensor&)>;
Argument to_argument(const c10::IValue& value, const NameTensor& name_tensor);

// The IValue that the schema's argument takes. `tensor` gives a value its tensor.
using TensorOf = std::function<at::Tensor(ValueId)>;
c10::IValue to_ivalue(const Argument& argument, const c10::Argument& schema, const TensorOf& tensor);

// The operator writes into this argument, or this result is an argument that it wrote into.
bool is_written(const c10::Argument& argument);
bool writes_argument(const c10::OperatorHandle& op);
// It changes which part of its memory its first argument is, and how that is laid out (transpose_), or its memory
// itself.
bool changes_view(const c10::OperatorHandle& op);
// It draws from a generator, so that calling it or not is seen from outside.
bool is_random(const c10::OperatorHandle& op);

// The argument whose memory a result may look into, as the schema says it; empty where the result has memory of its
// own.
std::optional<std::size_t> viewed_argument(const c10::FunctionSchema& schema, std::size_t result);

// That the schema's argument takes this.
base::Expected<void> check_type(const Argument& argument, const c10::Argument& schema);

}  // namespace esper::program
