#include "tamiyo/network/uniform_tensor.h"

#include <ATen/Functions.h>

#include "base/hash.h"
#include "device/rng.h"

namespace esper::tamiyo {

at::Tensor uniform_tensor(std::uint64_t seed, std::string_view name, const std::vector<std::int64_t>& shape,
                          float bound) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  float* values = tensor.mutable_data_ptr<float>();
  const std::uint64_t key = device::derive_seed(seed, name);
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    const std::uint64_t bits = base::mix64(key ^ base::mix64(static_cast<std::uint64_t>(i))) >> 40;
    values[i] = (static_cast<float>(bits) * 0x1p-23F - 1.0F) * bound;
  }
  return tensor;
}

}  // namespace esper::tamiyo
