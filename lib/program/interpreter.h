#pragma once
// Runs a model's program call by call through the dispatcher, with autograd, at any batch size, from any operation to
// any other. Training thread.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "program/model_program.h"

namespace esper::program {

// The tensors of one run, by value; undefined before they are made and after their last use.
using Values = std::vector<at::Tensor>;

class Interpreter {
 public:
  // tensors: by the inputs' names, all but kModelInput; the interpreter keeps them, so they are written in place only.
  // Constants that the program makes lie on `device`. kept: values that outlive their last use.
  Interpreter(const ModelProgram& model, const std::map<std::string, at::Tensor>& tensors, c10::Device device,
              std::span<const ValueId> kept);

  // All undefined but the inputs.
  Values begin(const at::Tensor& batch) const;
  // Operations [from, to) for a batch of n samples.
  void run(Values& values, std::size_t from, std::size_t to, std::int64_t n) const;
  std::size_t num_operations() const { return calls_.size(); }

 private:
  // An argument that differs from run to run.
  struct Patch {
    std::size_t argument = 0;
    Argument source;
    const c10::Argument* schema = nullptr;
    std::vector<std::pair<std::size_t, SizeExpression>> sizes;  // elements of it that follow the batch size
  };
  struct Call {
    c10::OperatorHandle op;
    std::vector<c10::IValue> arguments;
    std::vector<Patch> patches;
    std::vector<Argument> results;
    std::vector<ValueId> dead_after;
    bool without_cudnn = false;
    bool is_training_norm = false;  // aten::batch_norm with the batch's statistics
  };

  Call prepare(const SymbolicProgram& body, std::size_t at, c10::Device device) const;
  void mark_dead(const Program& program, std::span<const ValueId> kept);
  static c10::IValue patched(const Patch& patch, const Values& values, std::int64_t n);
  static void keep(const Call& call, std::vector<c10::IValue>& stack, Values& values);

  Values inputs_;  // of all values: those that are there before a run
  ValueId batch_ = kNoValue;
  std::vector<Call> calls_;
};

// The values that exist before operation `at` and that it or a later one reads; of the inputs the batch alone.
std::vector<ValueId> live_at(const ModelProgram& model, std::size_t at);

}  // namespace esper::program
