#pragma once
// Watches what a step does, call by call, in torch's dispatcher: below autograd, so forward, backward and optimizer are
// plain ATen calls, whatever C++ called them. Calls of operators that are made of others, and of those alone, are not
// seen; those others are. Training thread; autograd may run a CUDA step's backward in its own threads, one at a time.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace esper::program {

// What is called before and after each call. The stack ends with the call's arguments; after it, with its results.
// Calls that the call or a hook itself makes are not reported.
struct CallHooks {
  using Hook = void (*)(void* listener, const c10::OperatorHandle& op, const torch::jit::Stack& stack);
  void* listener;
  Hook before, after;
};

// Of any class with before(op, stack) and after(op, stack); the listener outlives whoever holds its hooks.
template <class Listener>
CallHooks hooks_of(Listener& listener) {
  using Op = c10::OperatorHandle;
  using torch::jit::Stack;
  return {&listener, [](void* it, const Op& op, const Stack& stack) { static_cast<Listener*>(it)->before(op, stack); },
          [](void* it, const Op& op, const Stack& stack) { static_cast<Listener*>(it)->after(op, stack); }};
}

// As long as it lives, the hooks hear of the calls of this thread. One at a time in the process.
class CallWatch {
 public:
  explicit CallWatch(const CallHooks& hooks);
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

 private:
  CallHooks hooks_;
  c10::impl::IncludeDispatchKeyGuard include_;
};

}  // namespace esper::program
