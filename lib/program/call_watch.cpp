#include "program/call_watch.h"

#include <torch/library.h>

#include "base/error.h"

namespace esper::program {
namespace {

using torch::jit::Stack;

// Torch has this key for tensors that only pretend; nothing uses it in a C++ process, and it lies below autograd and
// autocast and above every backend.
constexpr auto kKey = c10::DispatchKey::Fake;

// The dispatcher calls a plain function.
const CallHooks* current = nullptr;

c10::DispatchKeySet below(c10::DispatchKeySet keys) {
  return keys & c10::after_func_keyset & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey);
}

void hear(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  // Made of other operators, and of those alone: those are observed. It may or may not return a view; they know.
  if (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) {
    op.redispatchBoxed(below(keys), stack);
    return;
  }
  const CallHooks* const hooks = current;
  const c10::impl::ExcludeDispatchKeyGuard exclude(kKey);
  if (hooks != nullptr) hooks->before(hooks->listener, op, *stack);
  op.redispatchBoxed(below(keys), stack);
  if (hooks != nullptr) hooks->after(hooks->listener, op, *stack);
}

}  // namespace

CallWatch::CallWatch(const CallHooks& hooks) : hooks_(hooks), include_(kKey) {
  ESPER_CHECK(current == nullptr, "two watches at once");
  current = &hooks_;
}

CallWatch::~CallWatch() { current = nullptr; }

}  // namespace esper::program

TORCH_LIBRARY_IMPL(_, Fake, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&esper::program::hear>());
}
