#pragma once
// Watches what a step does, call by call, in torch's dispatcher: below autograd, so forward, backward and optimizer are
// plain ATen calls, whatever C++ called them. Calls of operators that are made of others, and of those alone, are not
// seen; those others are. Training thread; autograd may run a CUDA step's backward in its own threads, one at a time.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace esper::program {

class CallListener {
 public:
  virtual ~CallListener() = default;
  // The stack ends with the call's arguments; after it, with its results. Calls that the call or the
  // listener itself makes are not reported.
  virtual void before(const c10::OperatorHandle& op, const torch::jit::Stack& stack) = 0;
  virtual void after(const c10::OperatorHandle& op, const torch::jit::Stack& stack) = 0;
};

// As long as it lives, the listener hears of the calls of this thread. One at a time in the process.
class CallWatch {
 public:
  explicit CallWatch(CallListener& listener);
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

 private:
  c10::impl::IncludeDispatchKeyGuard include_;
};

}  // namespace esper::program
