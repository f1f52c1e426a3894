#include "program/recorder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "program/call_watch.h"
#include "program/ivalue.h"
#include "program/model_program.h"
#include "program/simplify.h"

namespace esper::program {
namespace {

using torch::jit::Stack;

struct Refusal {
  std::string reason;
};

TensorType type_of(const at::Tensor& tensor) {
  return {tensor.scalar_type(), tensor.device().type(), tensor.sizes().vec(), tensor.strides().vec()};
}

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
  explicit Recording(std::span<const ExternalTensor> external_tensors)
      : external_tensors_(external_tensors), scratch_(external_tensors.size(), kNoValue) {
    for (std::size_t i = 0; i < external_tensors.size(); ++i) {
      storages_[storage_of(external_tensors[i].tensor)].external = static_cast<std::int32_t>(i);
      if (external_tensors[i].role != ExternalTensor::Role::kInput) continue;
      input_of_external_[static_cast<std::int32_t>(i)] = static_cast<std::int32_t>(program_.inputs.size());
      program_.inputs.push_back({external_tensors[i].name, Access::kRead});
      define(external_tensors[i].tensor);
    }
  }

  // The arguments are named while the tensors are as the operator finds them.
  void before(const c10::OperatorHandle& op, const Stack& stack) {
    if (refused()) return;
    try {
      if (reads_device(op)) throw Refusal{op.operator_name().name + " reads the device"};
      arguments_ = name_arguments(op, stack);
    } catch (const Refusal& refusal) {
      refuse(refusal.reason);
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
    const NameTensor name = [&](const at::Tensor& tensor) { return name_of(tensor, op); };
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
    operation.results.emplace_back(TensorArgument{define(changed.toTensor())});
    program_.operations.push_back(std::move(operation));
  }

  void refuse(const std::string& reason) {
    if (refusal_.empty()) refusal_ = reason;
  }
  bool shares_known_memory(const at::Tensor& tensor) const {
    return tensor.defined() && tensor.has_storage() && storages_.contains(storage_of(tensor));
  }
  bool shares_known_memory(const c10::IValue& value) const {
    if (value.isTensor()) return shares_known_memory(value.toTensor());
    if (!value.isTensorList()) return false;
    const auto tensors = value.toTensorVector();
    return std::ranges::any_of(tensors, [this](const at::Tensor& tensor) { return shares_known_memory(tensor); });
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

  // A tensor object as it was when it was named. The weak references let its memory go when the step lets go of it, and
  // still keep the addresses of the two objects from coming twice: identity is theirs, never that of the bytes.
  struct Seen {
    explicit Seen(const at::Tensor& tensor) : object(tensor.getIntrusivePtr()), offset(tensor.storage_offset()) {
      if (tensor.has_storage()) storage = tensor.storage().getWeakStorageImpl();
    }
    c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> object;
    std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> storage;
    std::int64_t offset;  // in elements
  };

  struct StorageFacts {
    std::int32_t external = -1;     // index into external_tensors_
    std::vector<ValueId> values{};  // that lie in it, oldest first
  };

  static const c10::StorageImpl* storage_of(const at::Tensor& tensor) {
    return tensor.storage().unsafeGetStorageImpl();
  }

  ValueId define(const at::Tensor& tensor) {
    const auto id = static_cast<ValueId>(program_.values.size());
    program_.values.push_back(type_of(tensor));
    seen_.emplace_back(tensor);
    known_[tensor.unsafeGetTensorImpl()] = id;
    if (tensor.has_storage()) storages_[storage_of(tensor)].values.push_back(id);
    return id;
  }

  bool same_view(ValueId id, const at::Tensor& tensor) const {
    const TensorType& type = program_.values[static_cast<std::size_t>(id)];
    return type.dtype == tensor.scalar_type() &&
           seen_[static_cast<std::size_t>(id)].offset == tensor.storage_offset() && tensor.sizes() == type.sizes &&
           tensor.strides() == type.strides;
  }

  // A tensor object that was not seen before may still be a value that was: autograd wraps what it saves again.
  ValueId find_alias(const at::Tensor& tensor, const StorageFacts& facts) const {
    for (auto id = facts.values.rbegin(); id != facts.values.rend(); ++id) {
      if (same_view(*id, tensor)) return *id;
    }
    return kNoValue;
  }

  ValueId name_of(const at::Tensor& tensor, const c10::OperatorHandle& op) {
    if (const auto found = known_.find(tensor.unsafeGetTensorImpl()); found != known_.end()) return found->second;
    const auto facts = storages_.find(storage_of(tensor));
    if (facts == storages_.end()) {
      throw Refusal{operator_name(op) + " uses a tensor of shape " + c10::str(tensor.sizes()) +
                    " that is neither an input nor computed by the step"};
    }
    wrappers_.emplace_back(tensor);
    const ValueId alias = find_alias(tensor, facts->second);
    if (alias != kNoValue) return known_[tensor.unsafeGetTensorImpl()] = alias;
    return view_of(base_of(facts->second), tensor);
  }

  // The value that spans the storage: the input, or the scratch or intermediate tensor that came first.
  ValueId base_of(const StorageFacts& facts) {
    if (facts.external >= 0 &&
        external_tensors_[static_cast<std::size_t>(facts.external)].role == ExternalTensor::Role::kScratch) {
      ValueId& scratch = scratch_[static_cast<std::size_t>(facts.external)];
      if (scratch == kNoValue)
        scratch = make_scratch(external_tensors_[static_cast<std::size_t>(facts.external)].tensor);
      return scratch;
    }
    return facts.values.front();
  }

  ValueId make_scratch(const at::Tensor& tensor) {
    const ValueId id = define(tensor);
    program_.operations.push_back(
        {"aten::empty_strided",
         {tensor.sizes().vec(), tensor.strides().vec(), static_cast<std::int64_t>(tensor.scalar_type()),
          std::monostate{}, DeviceArgument{c10::DeviceTypeName(tensor.device().type(), true)}, std::monostate{}},
         {TensorArgument{id}}});
    return id;
  }

  ValueId view_of(ValueId base, const at::Tensor& tensor) {
    if (same_view(base, tensor)) return base;
    if (program_.values[static_cast<std::size_t>(base)].dtype != tensor.scalar_type())
      throw Refusal{"a view whose type differs from its base"};
    const ValueId id = define(tensor);
    program_.operations.push_back(
        {"aten::as_strided",
         {TensorArgument{base}, tensor.sizes().vec(), tensor.strides().vec(), tensor.storage_offset()},
         {TensorArgument{id}}});
    return id;
  }

  void record_writes(const c10::IValue& value) {
    if (value.isTensor()) return record_write(value.toTensor());
    if (!value.isList()) return;
    for (const c10::IValue& item : value.toListRef()) {
      if (item.isTensor()) record_write(item.toTensor());
    }
  }

  void record_write(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.has_storage()) return;
    const auto facts = storages_.find(storage_of(tensor));
    if (facts == storages_.end()) return;
    const auto input = input_of_external_.find(facts->second.external);
    if (input != input_of_external_.end()) {
      program_.inputs[static_cast<std::size_t>(input->second)].access = Access::kWritten;
    }
  }

  Argument result_of(const c10::IValue& value) {
    if (value.isTensor()) {
      const at::Tensor& tensor = value.toTensor();
      return tensor.defined() ? Argument(TensorArgument{result_of(tensor)}) : Argument(TensorArgument{kNoValue});
    }
    if (!value.isTensorList()) return std::monostate{};
    TensorListArgument list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.ids.push_back(result_of(tensor));
    return list;
  }

  ValueId result_of(const at::Tensor& tensor) {
    const auto found = known_.find(tensor.unsafeGetTensorImpl());
    return found != known_.end() ? found->second : define(tensor);
  }

  std::span<const ExternalTensor> external_tensors_;
  Program program_;
  std::string refusal_;
  std::vector<Argument> arguments_;  // of the call that runs
  std::vector<Seen> seen_;           // by value
  std::vector<Seen> wrappers_;       // other tensor objects for the same values
  std::unordered_map<const c10::TensorImpl*, ValueId> known_;
  std::unordered_map<const c10::StorageImpl*, StorageFacts> storages_;
  std::unordered_map<std::int32_t, std::int32_t> input_of_external_;
  std::vector<ValueId> scratch_;  // by root
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
