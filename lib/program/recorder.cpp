#include "program/recorder.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "program/call_watch.h"
#include "program/ivalue.h"
#include "program/model_program.h"
#include "program/recorded_values.h"
#include "program/simplify.h"

namespace esper::program {
namespace {

using torch::jit::Stack;

bool reads_device(const c10::OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  return name == "aten::_local_scalar_dense" || name == "aten::item";
}

// Of an operator that returns views without declaring it, for autograd's sake, or turns its argument into a view of
// itself: the one that returns the same views and declares it. Empty if there is none.
std::string_view declared_view(std::string_view name) {
  using Pair = std::pair<std::string_view, std::string_view>;
  constexpr std::array kViews{Pair{"aten::_unsafe_view", "aten::view"},
                              Pair{"aten::unsafe_split.Tensor", "aten::split.Tensor"},
                              Pair{"aten::unsafe_split_with_sizes", "aten::split_with_sizes"},
                              Pair{"aten::as_strided_", "aten::as_strided"},
                              Pair{"aten::squeeze_", "aten::squeeze"},
                              Pair{"aten::squeeze_.dim", "aten::squeeze.dim"},
                              Pair{"aten::squeeze_.dims", "aten::squeeze.dims"},
                              Pair{"aten::t_", "aten::t"},
                              Pair{"aten::transpose_", "aten::transpose.int"},
                              Pair{"aten::unsqueeze_", "aten::unsqueeze"}};
  const auto known = std::ranges::find(kViews, name, [](const auto& view) { return view.first; });
  return known == kViews.end() ? std::string_view() : known->second;
}

// In training batch norm moves its statistics. These operators, whose arguments are in aten::batch_norm's order, do not
// declare it.
bool moves_statistic(const std::string& name, std::size_t argument, at::ArrayRef<c10::IValue> arguments) {
  const bool is_norm = name == "aten::native_batch_norm" || name == "aten::cudnn_batch_norm";
  return is_norm && (argument == kNormMean || argument == kNormVariance) && arguments[kNormTraining].toBool();
}

class Recording {
 public:
  explicit Recording(std::span<const ExternalTensor> external_tensors) : values_(program_, external_tensors) {}

  // The arguments are named while the tensors are as the operator finds them.
  void before(const c10::OperatorHandle& op, const Stack& stack) {
    if (refused()) return;
    try {
      if (reads_device(op)) throw NotRecordable{op.operator_name().name + " reads the device"};
      arguments_ = name_arguments(op, stack);
    } catch (const NotRecordable& error) {
      refuse(error.reason);
    } catch (const base::Error& error) {
      refuse(operator_name(op) + ": " + error.what());
    }
  }

  void after(const c10::OperatorHandle& op, const Stack& stack) {
    if (!refused()) add(op, std::move(arguments_), stack);
  }

  bool refused() const { return !refusal_.empty(); }
  const std::string& refusal() const { return refusal_; }
  Program take() { return std::move(program_); }

 private:
  std::vector<Argument> name_arguments(const c10::OperatorHandle& op, const Stack& stack) {
    const auto& schema = op.schema().arguments();
    const std::size_t first = stack.size() - schema.size();
    const NameTensor name = [&](const at::Tensor& tensor) { return values_.name(tensor, op); };
    std::vector<Argument> arguments;
    const at::ArrayRef<c10::IValue> values(stack.data() + first, schema.size());
    for (std::size_t i = 0; i < schema.size(); ++i) {
      arguments.push_back(to_argument(values[i], name));
      const bool written = is_written(schema[i]) && !changes_view(op);
      if (written || moves_statistic(op.operator_name().name, i, values)) record_writes(values[i]);
    }
    return arguments;
  }

  void add(const c10::OperatorHandle& op, std::vector<Argument> arguments, const Stack& stack) {
    const auto& returns = op.schema().returns();
    const std::size_t first = stack.size() - returns.size();
    Operation operation{operator_name(op), std::move(arguments), {}};
    if (changes_view(op)) return add_changed_view(std::move(operation), stack.back());
    for (std::size_t i = 0; i < returns.size(); ++i) {
      const bool hidden_view = !viewed_argument(op.schema(), i) && shares_known_memory(stack[first + i]);
      if (hidden_view && !name_as_view(operation)) return;
      operation.results.push_back(result_of(stack[first + i]));
    }
    program_.operations.push_back(std::move(operation));
  }

  // The tensor object is another view of its memory from here on.
  void add_changed_view(Operation operation, const c10::IValue& changed) {
    const std::string_view view = declared_view(operation.name);
    const auto* before = operation.arguments.empty() ? nullptr : std::get_if<TensorArgument>(&operation.arguments[0]);
    const bool is_input = before != nullptr && before->id < static_cast<ValueId>(program_.inputs.size());
    if (view.empty() || is_input) return refuse(operation.name + " changes the layout of a tensor in place");
    operation.name = view;
    operation.results.emplace_back(TensorArgument{values_.define(changed.toTensor())});
    program_.operations.push_back(std::move(operation));
  }

  void refuse(const std::string& reason) {
    if (refusal_.empty()) refusal_ = reason;
  }
  bool shares_known_memory(const c10::IValue& value) const {
    if (value.isTensor()) return values_.is_known_memory(value.toTensor());
    if (!value.isTensorList()) return false;
    const auto tensors = value.toTensorVector();
    return std::ranges::any_of(tensors, [this](const at::Tensor& tensor) { return values_.is_known_memory(tensor); });
  }

  // Who plans memory has to know every view for one.
  bool name_as_view(Operation& operation) {
    const std::string_view view = declared_view(operation.name);
    if (view.empty()) {
      refuse(operation.name + " returns an alias of its argument without declaring it");
      return false;
    }
    operation.name = view;
    return true;
  }

  void record_writes(const c10::IValue& value) {
    if (value.isTensor()) return values_.record_write(value.toTensor());
    if (!value.isList()) return;
    for (const c10::IValue& item : value.toListRef()) {
      if (item.isTensor()) values_.record_write(item.toTensor());
    }
  }

  Argument result_of(const c10::IValue& value) {
    if (value.isTensor()) {
      const at::Tensor& tensor = value.toTensor();
      return tensor.defined() ? Argument(TensorArgument{values_.name_result(tensor)})
                              : Argument(TensorArgument{kNoValue});
    }
    if (!value.isTensorList()) return std::monostate{};
    TensorListArgument list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.ids.push_back(values_.name_result(tensor));
    return list;
  }

  Program program_;
  RecordedValues values_;
  std::string refusal_;
  std::vector<Argument> arguments_;  // of the call that runs
};

}  // namespace

base::Expected<Program> record(std::span<const ExternalTensor> external_tensors, const std::function<void()>& step) {
  Recording recording(external_tensors);
  {
    const CallWatch watch(hooks_of(recording));
    step();
  }
  if (recording.refused()) return base::failure(recording.refusal());
  Program program = simplify(recording.take());
  if (const auto sound = verify(program); !sound) return base::failure(sound.error());
  return program;
}

}  // namespace esper::program
