#pragma once
// Runs a program's list of operations through the dispatcher, without autograd and without compiling anything.
// Training thread.
//
// What can be settled once is settled when the replay is made: views of inputs and of planned memory exist from then
// on, and operators that can write into given memory do so, in one arena in which values that are never needed at the
// same time share their place. What is left is computation. It calls the very kernels that eager calls, so its results
// are eager's to the bit.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <span>
#include <vector>

#include "program/program.h"

namespace esper::program {

class Replay {
 public:
  // inputs: parallel to program.inputs, of the recorded types. State stays where it is and is read and written there.
  // moving: those of the inputs that rebind() will move. The program is one that verify() found good.
  Replay(const Program& program, std::span<const at::Tensor> inputs, std::span<const std::size_t> moving);
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // From now on the moving input lies there: of the same type. Costs a pointer, copies nothing. `tensor` has to live
  // until the run is over.
  void rebind(std::size_t input, const at::Tensor& tensor);

  void run();

  // Gives the memory of intermediate values back to the system until the next run; on the CPU only.
  void release_intermediates() const;

 private:
  friend class ReplayPlanner;
  // An argument with values that differ from run to run.
  struct Patch {
    std::size_t argument = 0;
    Argument source;
    const c10::Argument* schema = nullptr;
  };
  struct Call {
    c10::OperatorHandle op;
    std::vector<c10::IValue> arguments;  // as settled
    std::vector<Patch> patches;
    std::vector<std::vector<ValueId>> results;  // by return, those to keep; empty where all are settled
    std::vector<ValueId> dead_after;            // made by a run, and unused after this call
  };

  void keep_results(const Call& call);

  std::vector<at::Tensor> values_;  // settled ones for good, others while a run needs them
  std::vector<Call> calls_;
  std::vector<c10::IValue> stack_;
  at::Tensor arena_;  // bytes
};

}  // namespace esper::program
