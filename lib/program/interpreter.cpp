#include "program/interpreter.h"

#include <ATen/Context.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "program/ivalue.h"

namespace esper::program {
namespace {

// By value: the last operation that reads or makes it.
std::vector<std::size_t> last_uses(const Program& program) {
  std::vector<std::size_t> last(program.values.size(), 0);
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    for (const auto* list : {&program.operations[i].arguments, &program.operations[i].results}) {
      for (const Argument& argument : *list) {
        for (const ValueId id : ids_of(argument)) {
          if (id != kNoValue) last[static_cast<std::size_t>(id)] = i;
        }
      }
    }
  }
  return last;
}

Argument on_device(const Argument& argument, c10::Device device) {
  return std::holds_alternative<DeviceArgument>(argument) ? Argument(DeviceArgument{device.str()}) : argument;
}

// cuDNN keeps the random state of dropout between the layers of a recurrent network to itself, where no checkpoint
// finds it and no seed reaches it.
bool hides_random_state(const Operation& operation, const std::vector<c10::IValue>& arguments, c10::Device device) {
  return device.is_cuda() && at::globalContext().deterministicAlgorithms() && is_recurrent(operation.name) &&
         arguments[kRecurrentDropout].toDouble() > 0 && arguments[kRecurrentTrain].toBool();
}

// One value per channel has no variance, and the running one would become NaN. PyTorch refuses such a batch in Python.
void spare_statistics(std::vector<c10::IValue>& arguments) {
  const at::Tensor& x = arguments[0].toTensor();
  if (x.numel() == x.size(1)) arguments[kNormMean] = arguments[kNormVariance] = c10::IValue();
}

// While it lives operators are computed by torch's own kernels, in all threads of the process.
class CudnnOff {
 public:
  CudnnOff() : former_(at::globalContext().userEnabledCuDNN()) { at::globalContext().setUserEnabledCuDNN(false); }
  ~CudnnOff() { at::globalContext().setUserEnabledCuDNN(former_); }
  CudnnOff(const CudnnOff&) = delete;
  CudnnOff& operator=(const CudnnOff&) = delete;

 private:
  bool former_;
};

}  // namespace

Interpreter::Interpreter(const ModelProgram& model, const std::map<std::string, at::Tensor>& tensors,
                         c10::Device device, std::span<const ValueId> kept) {
  const Program& program = model.body.program;
  inputs_.resize(program.values.size());
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    if (program.inputs[i].name == kModelInput) {
      batch_ = static_cast<ValueId>(i);
      continue;
    }
    const auto tensor = tensors.find(program.inputs[i].name);
    ESPER_CHECK(tensor != tensors.end(), "the program takes a tensor that is not there: " + program.inputs[i].name);
    inputs_[i] = tensor->second;
  }
  for (std::size_t i = 0; i < program.operations.size(); ++i) calls_.push_back(prepare(model.body, i, device));
  std::vector<ValueId> all_kept(kept.begin(), kept.end());
  all_kept.push_back(model.output);
  mark_dead(program, all_kept);
}

Interpreter::Call Interpreter::prepare(const SymbolicProgram& body, std::size_t at, c10::Device device) const {
  const Operation& operation = body.program.operations[at];
  const auto op = find_operator(operation.name);
  ESPER_CHECK(op, "this torch has no " + operation.name);
  Call call{*op, {}, {}, operation.results, {}, false, false};
  for (std::size_t a = 0; a < operation.arguments.size(); ++a) {
    const Argument argument = on_device(operation.arguments[a], device);
    Patch patch{a, argument, &op->schema().arguments()[a], {}};
    const NumberPlace first{NumberPlace::Part::kArgument, at, a, 0};
    for (auto it = body.expressions.lower_bound(first); it != body.expressions.end(); ++it) {
      if (it->first.part != first.part || it->first.at != at || it->first.argument != a) break;
      patch.sizes.emplace_back(it->first.element, it->second);
    }
    const bool varies = !ids_of(argument).empty() || !patch.sizes.empty();
    call.arguments.push_back(varies ? c10::IValue() : to_ivalue(argument, *patch.schema, {}));
    if (varies) call.patches.push_back(std::move(patch));
  }
  call.without_cudnn = hides_random_state(operation, call.arguments, device);
  call.is_training_norm = operation.name == "aten::batch_norm" && operation.arguments[kNormTraining] == Argument(true);
  return call;
}

void Interpreter::mark_dead(const Program& program, std::span<const ValueId> kept) {
  const auto last = last_uses(program);
  for (std::size_t id = program.inputs.size(); id < program.values.size(); ++id) {
    const auto value = static_cast<ValueId>(id);
    if (!calls_.empty() && std::ranges::find(kept, value) == kept.end()) calls_[last[id]].dead_after.push_back(value);
  }
}

Values Interpreter::begin(const at::Tensor& batch) const {
  Values values = inputs_;
  values[static_cast<std::size_t>(batch_)] = batch;
  return values;
}

c10::IValue Interpreter::patched(const Patch& patch, const Values& values, std::int64_t n) {
  if (patch.sizes.empty()) {
    return to_ivalue(patch.source, *patch.schema, [&](ValueId id) { return values[static_cast<std::size_t>(id)]; });
  }
  if (std::holds_alternative<std::int64_t>(patch.source)) return patch.sizes.front().second.whole_at(n);
  auto list = std::get<std::vector<std::int64_t>>(patch.source);
  for (const auto& [element, size] : patch.sizes) list[element] = size.whole_at(n);
  return list;
}

void Interpreter::keep(const Call& call, std::vector<c10::IValue>& stack, Values& values) {
  for (std::size_t r = 0; r < call.results.size(); ++r) {
    if (const auto* one = std::get_if<TensorArgument>(&call.results[r])) {
      if (one->id != kNoValue) values[static_cast<std::size_t>(one->id)] = std::move(stack[r]).toTensor();
    } else if (const auto* list = std::get_if<TensorListArgument>(&call.results[r])) {
      auto made = std::move(stack[r]).toTensorVector();
      ESPER_CHECK(made.size() == list->ids.size(), "an operation made another number of tensors");
      for (std::size_t i = 0; i < made.size(); ++i) {
        if (list->ids[i] != kNoValue) values[static_cast<std::size_t>(list->ids[i])] = std::move(made[i]);
      }
    }
  }
}

void Interpreter::run(Values& values, std::size_t from, std::size_t to, std::int64_t n) const {
  std::vector<c10::IValue> stack;
  for (std::size_t i = from; i < to; ++i) {
    const Call& call = calls_[i];
    stack = call.arguments;
    for (const Patch& patch : call.patches) stack[patch.argument] = patched(patch, values, n);
    if (call.is_training_norm) spare_statistics(stack);
    std::optional<CudnnOff> without_cudnn;
    if (call.without_cudnn) without_cudnn.emplace();
    call.op.callBoxed(stack);
    keep(call, stack, values);
    for (const ValueId id : call.dead_after) values[static_cast<std::size_t>(id)].reset();
  }
}

std::vector<ValueId> live_at(const ModelProgram& model, std::size_t at) {
  const Program& program = model.body.program;
  const auto last = last_uses(program);
  std::vector<char> exists(program.values.size(), 0);
  for (std::size_t i = 0; i < program.inputs.size(); ++i) exists[i] = program.inputs[i].name == kModelInput ? 1 : 0;
  for (std::size_t i = 0; i < at && i < program.operations.size(); ++i) {
    for (const Argument& result : program.operations[i].results) {
      for (const ValueId id : ids_of(result)) {
        if (id >= static_cast<ValueId>(program.inputs.size())) exists[static_cast<std::size_t>(id)] = 1;
      }
    }
  }
  std::vector<ValueId> live;
  for (std::size_t id = 0; id < exists.size(); ++id) {
    const auto value = static_cast<ValueId>(id);
    if (exists[id] != 0 && (last[id] >= at || value == model.output)) live.push_back(value);
  }
  return live;
}

}  // namespace esper::program
