#include "kasmina/tensor/stored_tensor.h"

#include <ATen/ops/empty.h>

#include <array>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace esper::kasmina {
namespace {

using storage::Dtype;

constexpr std::array kDtypes{std::pair{torch::kFloat32, Dtype::kF32},   std::pair{torch::kFloat64, Dtype::kF64},
                             std::pair{torch::kInt64, Dtype::kI64},     std::pair{torch::kInt32, Dtype::kI32},
                             std::pair{torch::kUInt8, Dtype::kU8},      std::pair{torch::kBool, Dtype::kBool},
                             std::pair{torch::kBFloat16, Dtype::kBF16}, std::pair{torch::kFloat16, Dtype::kF16}};

}  // namespace

storage::TensorView view_of(const NamedTensor& named) {
  const torch::Tensor& tensor = named.tensor;
  ESPER_CHECK(tensor.is_cpu() && tensor.is_contiguous(), "a tensor to be saved is a contiguous CPU copy: " + named.id);
  for (const auto& [torch_type, type] : kDtypes) {
    if (torch_type != tensor.scalar_type()) continue;
    std::vector<std::int64_t> shape(tensor.sizes().begin(), tensor.sizes().end());
    return {named.id, type, std::move(shape),
            std::span(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes())};
  }
  ESPER_CHECK(false, "a tensor of this type cannot be saved: " + named.id);
}

base::Expected<NamedTensor> tensor_of(const storage::TensorView& view) {
  for (const auto& [torch_type, type] : kDtypes) {
    if (type != view.dtype) continue;
    torch::Tensor tensor = at::empty(view.shape, torch_type);
    if (!view.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
    return NamedTensor{view.name, tensor};
  }
  return base::failure("tensor " + view.name + " has a type that checkpoints do not support");
}

}  // namespace esper::kasmina
