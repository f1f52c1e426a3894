#include "program/replay/replay_planner.h"

#include <torch/types.h>

#include "base/error.h"
#include "device/alignment.h"
#include "program/ivalue.h"
#include "program/replay/out_variant.h"

namespace esper::program {
namespace {

constexpr char kEmpty[] = "aten::empty_strided", kCopy[] = "aten::copy_";

bool has_tensor_argument(const Operation& operation) {
  return std::ranges::any_of(operation.arguments, [](const Argument& argument) { return !ids_of(argument).empty(); });
}

bool makes_views(const c10::OperatorHandle& op) {
  for (std::size_t i = 0; i < op.schema().returns().size(); ++i) {
    if (viewed_argument(op.schema(), i)) return true;
  }
  return false;
}

// Copies with a change of type or layout; copy_ does the same into given memory.
bool is_copy(const Operation& operation) {
  return operation.name == "aten::_to_copy" || operation.name == "aten::clone";
}

std::int64_t bytes_of(const TensorType& type) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < type.sizes.size(); ++i) {
    if (type.sizes[i] == 0) return 0;
    last += (type.sizes[i] - 1) * type.strides[i];
  }
  return (last + 1) * static_cast<std::int64_t>(c10::elementSize(type.dtype));
}

c10::DispatchKey backend_of(c10::DeviceType device) {
  return device == c10::DeviceType::CUDA ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU;
}

}  // namespace

ReplayPlanner::ReplayPlanner(const Program& program, Replay& replay)
    : program_(program),
      replay_(replay),
      storage_(find_storage(program)),
      written_(program.values.size(), false),
      settled_(program.values.size(), false) {
  std::fill_n(settled_.begin(), program.inputs.size(), true);
}

void ReplayPlanner::run() {
  decide();
  lay_out();
  for (std::size_t at = 0; at < steps_.size(); ++at) settle(at);
}

bool ReplayPlanner::all_settled(const Argument& argument) const {
  return std::ranges::all_of(ids_of(argument),
                             [&](ValueId id) { return id == kNoValue || settled_[static_cast<std::size_t>(id)]; });
}

void ReplayPlanner::decide() {
  for (const Operation& operation : program_.operations) {
    const auto op = find_operator(operation.name);
    const auto& arguments = op->schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (!is_written(arguments[i])) continue;
      for (const ValueId id : ids_of(operation.arguments[i])) {
        if (id != kNoValue) written_[static_cast<std::size_t>(storage_.owner[static_cast<std::size_t>(id)])] = true;
      }
    }
  }
  for (std::size_t at = 0; at < program_.operations.size(); ++at) {
    steps_.push_back(decide(at));
    const bool settles = steps_.back().fate != Fate::kCall;
    if (!settles) continue;
    for (const Argument& result : program_.operations[at].results) {
      for (const ValueId id : ids_of(result)) {
        if (id != kNoValue) settled_[static_cast<std::size_t>(id)] = true;
      }
    }
  }
}

ReplayPlanner::Step ReplayPlanner::decide(std::size_t at) {
  const Operation& operation = program_.operations[at];
  Step step{*find_operator(operation.name), Fate::kCall, std::nullopt};
  if (writes_argument(step.op)) return step;
  if (makes_views(step.op)) {
    const auto* base = operation.arguments.empty() ? nullptr : std::get_if<TensorArgument>(&operation.arguments[0]);
    if (base != nullptr && all_settled(operation.arguments[0])) step.fate = Fate::kView;
    return step;
  }
  if (is_planned(step, operation)) return step;
  const auto* made = operation.results.size() == 1 ? std::get_if<TensorArgument>(&operation.results[0]) : nullptr;
  const bool constant = made != nullptr && made->id != kNoValue && !has_tensor_argument(operation) &&
                        !is_random(step.op) && !written_[static_cast<std::size_t>(made->id)];
  if (constant) step.fate = Fate::kConstant;
  return step;
}

bool ReplayPlanner::is_planned(Step& step, const Operation& operation) const {
  for (const Argument& result : operation.results) {
    const auto* tensor = std::get_if<TensorArgument>(&result);
    if (tensor == nullptr || tensor->id == kNoValue) return false;
    // The arena lies where the state lies; a scalar that a step on a GPU keeps on the host has no place in it.
    if (program_.values[static_cast<std::size_t>(tensor->id)].device != program_.values.front().device) return false;
  }
  if (operation.results.empty()) return false;
  const TensorType& type = program_.values[static_cast<std::size_t>(std::get<TensorArgument>(operation.results[0]).id)];
  if (operation.name == kEmpty) {
    step.fate = Fate::kPlanned;
    return true;
  }
  step.writer = is_copy(operation) ? find_operator(kCopy) : find_out_variant(step.op, backend_of(type.device));
  if (!step.writer) return false;
  step.fate = Fate::kPlanned;
  return true;
}

void ReplayPlanner::lay_out() {
  std::vector<Piece> pieces;
  std::vector<ValueId> of_piece;
  for (std::size_t at = 0; at < steps_.size(); ++at) {
    if (steps_[at].fate != Fate::kPlanned) continue;
    for (const Argument& result : program_.operations[at].results) {
      const ValueId id = std::get<TensorArgument>(result).id;
      const auto value = static_cast<std::size_t>(id);
      pieces.push_back({bytes_of(program_.values[value]), static_cast<std::int32_t>(at),
                        std::max(storage_.last_use[value], static_cast<std::int32_t>(at)), 0});
      of_piece.push_back(id);
    }
  }
  const auto device = replay_.values_.empty() || !replay_.values_.front().defined() ? c10::Device(c10::DeviceType::CPU)
                                                                                    : replay_.values_.front().device();
  const std::int64_t size = place(pieces, device.is_cuda() ? device::kCudaAlignment : kHostAlignment);
  replay_.arena_ = at::empty({size}, torch::dtype(torch::kUInt8).device(device));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const TensorType& type = program_.values[static_cast<std::size_t>(of_piece[i])];
    auto* memory = static_cast<std::byte*>(replay_.arena_.data_ptr()) + pieces[i].offset;
    replay_.values_[static_cast<std::size_t>(of_piece[i])] =
        at::from_blob(memory, type.sizes, type.strides, torch::dtype(type.dtype).device(replay_.arena_.device()));
  }
}

void ReplayPlanner::settle(std::size_t at) {
  switch (steps_[at].fate) {
    case Fate::kPlanned:
      return settle_planned(at);
    case Fate::kConstant:
    case Fate::kView:
      return settle_now(at);
    case Fate::kCall:
      return add_call(at);
  }
}

std::vector<c10::IValue> ReplayPlanner::settled_arguments(const Operation& operation, const c10::FunctionSchema& schema,
                                                          std::vector<Replay::Patch>& patches) const {
  const TensorOf value = [this](ValueId id) { return replay_.values_[static_cast<std::size_t>(id)]; };
  std::vector<c10::IValue> arguments;
  for (std::size_t i = 0; i < operation.arguments.size(); ++i) {
    if (all_settled(operation.arguments[i])) {
      arguments.push_back(to_ivalue(operation.arguments[i], schema.arguments()[i], value));
    } else {
      arguments.emplace_back();
      patches.push_back({i, operation.arguments[i], &schema.arguments()[i]});
    }
  }
  return arguments;
}

void ReplayPlanner::settle_planned(std::size_t at) {
  const Step& step = steps_[at];
  if (!step.writer) return;
  const Operation& operation = program_.operations[at];
  Replay::Call call{*step.writer, {}, {}, {}, {}};
  const auto result = [&](std::size_t i) {
    return replay_.values_[static_cast<std::size_t>(std::get<TensorArgument>(operation.results[i]).id)];
  };
  if (is_copy(operation)) {
    const Operation copy{kCopy, {operation.results[0], operation.arguments[0], false}, {}};
    call.arguments = settled_arguments(copy, step.writer->schema(), call.patches);
  } else {
    call.arguments = settled_arguments(operation, step.op.schema(), call.patches);
    for (std::size_t i = 0; i < operation.results.size(); ++i) call.arguments.emplace_back(result(i));
  }
  record_dead(call, at);
  replay_.calls_.push_back(std::move(call));
}

// Values that a run makes and that nobody needs after this call.
void ReplayPlanner::record_dead(Replay::Call& call, std::size_t at) const {
  for (std::size_t value = program_.inputs.size(); value < program_.values.size(); ++value) {
    const auto owner = static_cast<std::size_t>(storage_.owner[value]);
    if (!settled_[value] && storage_.last_use[owner] == static_cast<std::int32_t>(at)) {
      call.dead_after.push_back(static_cast<ValueId>(value));
    }
  }
}

void ReplayPlanner::settle_now(std::size_t at) {
  const Operation& operation = program_.operations[at];
  std::vector<Replay::Patch> patches;
  std::vector<c10::IValue> stack = settled_arguments(operation, steps_[at].op.schema(), patches);
  ESPER_CHECK(patches.empty(), operation.name + " waits for values of a run");
  steps_[at].op.callBoxed(stack);
  for (std::size_t i = 0; i < operation.results.size(); ++i) {
    const std::vector<ValueId> ids = ids_of(operation.results[i]);
    const auto tensors = stack[i].isTensor() ? std::vector<at::Tensor>{stack[i].toTensor()} : stack[i].toTensorVector();
    for (std::size_t k = 0; k < ids.size(); ++k) {
      if (ids[k] != kNoValue) replay_.values_[static_cast<std::size_t>(ids[k])] = tensors[k];
    }
  }
}

void ReplayPlanner::add_call(std::size_t at) {
  const Operation& operation = program_.operations[at];
  Replay::Call call{steps_[at].op, {}, {}, {}, {}};
  call.arguments = settled_arguments(operation, call.op.schema(), call.patches);
  for (const Argument& result : operation.results) {
    std::vector<ValueId> ids = ids_of(result);
    const bool all_known =
        std::ranges::all_of(ids, [&](ValueId id) { return id == kNoValue || settled_[static_cast<std::size_t>(id)]; });
    if (all_known) ids.clear();
    call.results.push_back(std::move(ids));
  }
  record_dead(call, at);
  replay_.calls_.push_back(std::move(call));
}

}  // namespace esper::program
