#pragma once
// Where in a step a number that is not finite came from: each call whose result holds one is recorded, and way_to()
// walks back from a result to the call that made the first. Slow: every tensor of every call is read. Training thread.
//
//   FiniteTrace trace(named);
//   { const CallWatch watch(hooks_of(trace));  train_step(...); }
//   const auto way = trace.way_to(loss);  // way.front() is where it began

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "program/recorder.h"
#include "program/tensor_range.h"

namespace esper::program {

// A call with a result that is not finite.
struct BadCall {
  std::int64_t number = 0;                   // among all calls of the step, from 1
  std::string operation;                     // "aten::exp"
  std::vector<TensorRange> inputs, outputs;  // as they were before and after it
  // The name of an input that was not finite before any call of the step wrote to it; empty: there is none that this
  // result came from.
  std::string bad_input;
};

class FiniteTrace {
 public:
  // Before the step. named: what tensors are called in reports; the smallest that a tensor lies in names it.
  explicit FiniteTrace(std::vector<ExternalTensor> named);

  void before(const c10::OperatorHandle& op, const torch::jit::Stack& stack);
  void after(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

  // Of the step.
  std::int64_t num_calls() const { return num_calls_; }
  // From the call whose inputs were finite, or whose bad_input was not, to the one that wrote `result`. Empty where no
  // call wrote what is not finite there. Of several ways the one that begins first is taken; a NaN is followed rather
  // than an infinity, which masks hold on purpose.
  std::vector<BadCall> way_to(const at::Tensor& result) const;

 private:
  struct Named {
    ExternalTensor external;
    bool was_finite;  // before the step
  };
  struct Input {
    TensorRange range;
    std::optional<std::size_t> writer;  // among bad_
    bool was_bad = false;               // before the step
  };
  struct Recorded {
    BadCall call;
    std::optional<std::size_t> cause;  // among bad_
    std::size_t origin;                // likewise: where its way begins
  };
  // A weak reference keeps the address from coming twice.
  struct Writer {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    std::size_t call;
  };

  void add_input(const at::Tensor& tensor);
  void add_output(const at::Tensor& tensor);
  const Named* named_as(const at::Tensor& tensor) const;
  std::optional<std::size_t> writer_of(const at::Tensor& tensor) const;
  std::vector<const Input*> bad_inputs() const;
  Recorded recorded(const c10::OperatorHandle& op);

  std::vector<Named> named_;
  std::vector<Input> inputs_;        // of the call that runs
  std::vector<at::Tensor> written_;  // by it
  std::vector<Recorded> bad_;
  std::unordered_map<const c10::StorageImpl*, Writer> writers_;  // of the last number that is not finite
  std::int64_t num_calls_ = 0;
};

}  // namespace esper::program
