#pragma once
// Numbers in file formats. Any thread.

#include <concepts>
#include <vector>

#include "storage/bytes.h"

namespace esper::storage {

// `bytes` holds at least sizeof(Number).
template <std::unsigned_integral Number>
Number load_little_endian(Bytes bytes) {
  Number value = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;)
    value = static_cast<Number>(value << 8 | std::to_integer<Number>(bytes[i]));
  return value;
}

template <std::unsigned_integral Number>
void append_little_endian(std::vector<std::byte>& out, Number value) {
  for (std::size_t i = 0; i < sizeof(Number); ++i, value = static_cast<Number>(value >> 8)) {
    out.push_back(static_cast<std::byte>(value & 0xff));
  }
}

}  // namespace esper::storage
