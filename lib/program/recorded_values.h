#pragma once
// Which value of a program that is being recorded a tensor is, by the tensor object and its memory. Training thread.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "program/external_tensor.h"
#include "program/program.h"

namespace esper::program {

// The step cannot be a program, and why. Thrown.
struct NotRecordable {
  std::string reason;
};

class RecordedValues {
 public:
  // Defines the inputs of the program, to which values, and the operations that make them, are added. Borrows both.
  RecordedValues(Program& program, std::span<const ExternalTensor> external_tensors);
  RecordedValues(const RecordedValues&) = delete;
  RecordedValues& operator=(const RecordedValues&) = delete;

  // A new value: the tensor as it is now.
  ValueId define(const at::Tensor& tensor);
  // The value of an argument of `op`. A view of known memory that was not seen before becomes an operation. Throws
  // NotRecordable where the memory is not known.
  ValueId name(const at::Tensor& tensor, const c10::OperatorHandle& op);
  // The value of a result: that of the object if it is known, else a new one.
  ValueId name_result(const at::Tensor& tensor);
  // The input in whose memory the tensor lies is one that the step writes.
  void record_write(const at::Tensor& tensor);
  bool is_known_memory(const at::Tensor& tensor) const;

 private:
  // A tensor object as it was when it was named. The weak references let its memory go when the step lets go of it, and
  // still keep the addresses of the two objects from coming twice: identity is theirs, never that of the bytes.
  struct Seen {
    explicit Seen(const at::Tensor& tensor);
    c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> object;
    std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> storage;
    std::int64_t offset;  // in elements
  };

  struct StorageFacts {
    std::int32_t external = -1;     // index into external_tensors_
    std::vector<ValueId> values{};  // that lie in it, oldest first
  };

  bool same_view(ValueId id, const at::Tensor& tensor) const;
  ValueId find_alias(const at::Tensor& tensor, const StorageFacts& facts) const;
  ValueId base_of(const StorageFacts& facts);
  ValueId make_scratch(const at::Tensor& tensor);
  ValueId view_of(ValueId base, const at::Tensor& tensor);

  Program& program_;
  std::span<const ExternalTensor> external_tensors_;
  std::vector<Seen> seen_;      // by value
  std::vector<Seen> wrappers_;  // other tensor objects for the same values
  std::unordered_map<const c10::TensorImpl*, ValueId> known_;
  std::unordered_map<const c10::StorageImpl*, StorageFacts> storages_;
  std::unordered_map<std::int32_t, std::int32_t> input_of_external_;
  std::vector<ValueId> scratch_;  // by external tensor
};

}  // namespace esper::program
