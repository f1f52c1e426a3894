#pragma once
#include <torch/types.h>

#include <memory>
#include <utility>
#include <vector>

namespace esper::data {

// Hands the vector's memory to a tensor without a copy.
template <class T>
torch::Tensor adopt(std::vector<T> values, std::vector<std::int64_t> sizes) {
  auto owner = std::make_shared<std::vector<T>>(std::move(values));
  return torch::from_blob(owner->data(), sizes, [owner](void*) {}, c10::CppTypeToScalarType<T>::value);
}

}  // namespace esper::data
