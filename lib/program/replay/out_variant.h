#pragma once
// Operators that write into given memory, for those that make their own. Any thread.

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>

namespace esper::program {

// The overload that takes op's arguments and then one written tensor for each of its results, if it has a kernel of its
// own for the backend. One that torch derives from the functional operator is none: it would only copy.
std::optional<c10::OperatorHandle> find_out_variant(const c10::OperatorHandle& op, c10::DispatchKey backend);

}  // namespace esper::program
