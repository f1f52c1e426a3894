#pragma once
// A tensor as storage sees it: a name, a type, a shape and bytes owned by the caller. Row-major, little-endian.
// Any thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/bytes.h"

namespace esper::storage {

// The order is that of the reference implementation of safetensors, which sorts tensors by it; keep it.
enum class Dtype { kBool, kU8, kI8, kI16, kU16, kF16, kBF16, kI32, kU32, kF32, kF64, kI64, kU64 };

inline constexpr std::size_t kMaxRank = 64;  // libtorch's own limit

struct TensorView {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;  // empty: a scalar, one element
  // From a foreign file not aligned to the element: copy out of it, do not cast into it.
  Bytes bytes;
};

// As in the file: "F32".
std::string_view dtype_name(Dtype dtype);
std::optional<Dtype> dtype_from_name(std::string_view name);

std::uint64_t bytes_per_element(Dtype dtype);

// Product of the shape times the size of an element; nothing if negative or beyond 64 bits.
std::optional<std::uint64_t> byte_count(const std::vector<std::int64_t>& shape, Dtype dtype);

}  // namespace esper::storage
