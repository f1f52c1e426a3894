#include "storage/safetensors/tensor_view.h"

#include <array>

namespace esper::storage {
namespace {

struct DtypeRow {
  std::string_view name;
  std::uint64_t bytes;
};

// In the order of Dtype.
constexpr std::array<DtypeRow, 13> kDtypes = {{{"BOOL", 1},
                                               {"U8", 1},
                                               {"I8", 1},
                                               {"I16", 2},
                                               {"U16", 2},
                                               {"F16", 2},
                                               {"BF16", 2},
                                               {"I32", 4},
                                               {"U32", 4},
                                               {"F32", 4},
                                               {"F64", 8},
                                               {"I64", 8},
                                               {"U64", 8}}};
static_assert(static_cast<std::size_t>(Dtype::kU64) + 1 == kDtypes.size());

const DtypeRow& row_of(Dtype dtype) { return kDtypes.at(static_cast<std::size_t>(dtype)); }

}  // namespace

std::string_view dtype_name(Dtype dtype) { return row_of(dtype).name; }

std::optional<Dtype> dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kDtypes.size(); ++i) {
    if (kDtypes[i].name == name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

std::uint64_t bytes_per_element(Dtype dtype) { return row_of(dtype).bytes; }

std::optional<std::uint64_t> byte_count(const std::vector<std::int64_t>& shape, Dtype dtype) {
  std::uint64_t total = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(total, static_cast<std::uint64_t>(extent), &total)) return std::nullopt;
  }
  if (__builtin_mul_overflow(total, bytes_per_element(dtype), &total)) return std::nullopt;
  return total;
}

}  // namespace esper::storage
