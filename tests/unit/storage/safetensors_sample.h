#pragma once
// Building safetensors files by hand, good and bad ones.

#include <string>
#include <vector>

#include "storage/little_endian.h"
#include "storage/safetensors/safetensors.h"

namespace esper::test {

// A file with this header, its length put before, and `data_bytes` bytes behind.
inline std::string raw_safetensors(const std::string& header, std::size_t data_bytes) {
  std::vector<std::byte> length;
  storage::append_little_endian<std::uint64_t>(length, header.size());
  return std::string(storage::text_of(length)) + header + std::string(data_bytes, '\x11');
}

inline std::string written_safetensors(const std::vector<storage::TensorView>& tensors,
                                       const storage::TensorMetadata& metadata = {}) {
  std::string file;
  storage::write_safetensors(tensors, metadata, [&](storage::Bytes bytes) { file += storage::text_of(bytes); });
  return file;
}

}  // namespace esper::test
