#include "program/recorded_values.h"

#include <algorithm>

#include "program/ivalue.h"

namespace esper::program {
namespace {

const c10::StorageImpl* recorded_storage(const at::Tensor& tensor) { return tensor.storage().unsafeGetStorageImpl(); }

TensorType recorded_type(const at::Tensor& tensor) {
  return {tensor.scalar_type(), tensor.device().type(), tensor.sizes().vec(), tensor.strides().vec()};
}

}  // namespace

RecordedValues::Seen::Seen(const at::Tensor& tensor)
    : object(tensor.getIntrusivePtr()), offset(tensor.storage_offset()) {
  if (tensor.has_storage()) storage = tensor.storage().getWeakStorageImpl();
}

RecordedValues::RecordedValues(Program& program, std::span<const ExternalTensor> external_tensors)
    : program_(program), external_tensors_(external_tensors), scratch_(external_tensors.size(), kNoValue) {
  for (std::size_t i = 0; i < external_tensors.size(); ++i) {
    const auto index = static_cast<std::int32_t>(i);
    storages_[recorded_storage(external_tensors[i].tensor)].external = index;
    if (external_tensors[i].role != ExternalTensor::Role::kInput) continue;
    input_of_external_[index] = static_cast<std::int32_t>(program_.inputs.size());
    program_.inputs.push_back({external_tensors[i].name, Access::kRead});
    define(external_tensors[i].tensor);
  }
}

ValueId RecordedValues::define(const at::Tensor& tensor) {
  const auto id = static_cast<ValueId>(program_.values.size());
  program_.values.push_back(recorded_type(tensor));
  seen_.emplace_back(tensor);
  known_[tensor.unsafeGetTensorImpl()] = id;
  if (tensor.has_storage()) storages_[recorded_storage(tensor)].values.push_back(id);
  return id;
}

ValueId RecordedValues::name(const at::Tensor& tensor, const c10::OperatorHandle& op) {
  if (const auto found = known_.find(tensor.unsafeGetTensorImpl()); found != known_.end()) return found->second;
  const auto facts = storages_.find(recorded_storage(tensor));
  if (facts == storages_.end()) {
    throw NotRecordable{operator_name(op) + " uses a tensor of shape " + c10::str(tensor.sizes()) +
                        " that is neither an input nor computed by the step"};
  }
  wrappers_.emplace_back(tensor);
  const ValueId alias = find_alias(tensor, facts->second);
  if (alias != kNoValue) return known_[tensor.unsafeGetTensorImpl()] = alias;
  return view_of(base_of(facts->second), tensor);
}

ValueId RecordedValues::name_result(const at::Tensor& tensor) {
  const auto found = known_.find(tensor.unsafeGetTensorImpl());
  return found != known_.end() ? found->second : define(tensor);
}

void RecordedValues::record_write(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.has_storage()) return;
  const auto facts = storages_.find(recorded_storage(tensor));
  if (facts == storages_.end()) return;
  const auto input = input_of_external_.find(facts->second.external);
  if (input != input_of_external_.end()) {
    program_.inputs[static_cast<std::size_t>(input->second)].access = Access::kWritten;
  }
}

bool RecordedValues::is_known_memory(const at::Tensor& tensor) const {
  return tensor.defined() && tensor.has_storage() && storages_.contains(recorded_storage(tensor));
}

bool RecordedValues::same_view(ValueId id, const at::Tensor& tensor) const {
  const TensorType& type = program_.values[static_cast<std::size_t>(id)];
  return type.dtype == tensor.scalar_type() && seen_[static_cast<std::size_t>(id)].offset == tensor.storage_offset() &&
         tensor.sizes() == type.sizes && tensor.strides() == type.strides;
}

// A tensor object that was not seen before may still be a value that was: autograd wraps what it saves again.
ValueId RecordedValues::find_alias(const at::Tensor& tensor, const StorageFacts& facts) const {
  const auto same =
      std::find_if(facts.values.rbegin(), facts.values.rend(), [&](ValueId id) { return same_view(id, tensor); });
  return same != facts.values.rend() ? *same : kNoValue;
}

// The value that spans the storage: the input, or the scratch or intermediate tensor that came first.
ValueId RecordedValues::base_of(const StorageFacts& facts) {
  if (facts.external < 0) return facts.values.front();
  const auto index = static_cast<std::size_t>(facts.external);
  if (external_tensors_[index].role == ExternalTensor::Role::kInput) return facts.values.front();
  if (scratch_[index] == kNoValue) scratch_[index] = make_scratch(external_tensors_[index].tensor);
  return scratch_[index];
}

ValueId RecordedValues::make_scratch(const at::Tensor& tensor) {
  const ValueId id = define(tensor);
  program_.operations.push_back(
      {"aten::empty_strided",
       {tensor.sizes().vec(), tensor.strides().vec(), static_cast<std::int64_t>(tensor.scalar_type()), std::monostate{},
        DeviceArgument{c10::DeviceTypeName(tensor.device().type(), true)}, std::monostate{}},
       {TensorArgument{id}}});
  return id;
}

ValueId RecordedValues::view_of(ValueId base, const at::Tensor& tensor) {
  if (same_view(base, tensor)) return base;
  if (program_.values[static_cast<std::size_t>(base)].dtype != tensor.scalar_type())
    throw NotRecordable{"a view whose type differs from its base"};
  const ValueId id = define(tensor);
  program_.operations.push_back(
      {"aten::as_strided",
       {TensorArgument{base}, tensor.sizes().vec(), tensor.strides().vec(), tensor.storage_offset()},
       {TensorArgument{id}}});
  return id;
}

}  // namespace esper::program
