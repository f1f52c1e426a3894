#pragma once
// The safetensors format (https://github.com/huggingface/safetensors, README "Format"): a u64 little-endian header
// length, a JSON header of tensors and text metadata, then the bytes of all tensors without holes. There is no code in
// such a file, and the reader takes none of it on trust. NaN and infinities are values like any other here. Any thread.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "storage/bytes.h"
#include "storage/read_failure.h"
#include "storage/safetensors/tensor_view.h"

namespace esper::storage {

inline constexpr std::uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

using TensorMetadata = std::map<std::string, std::string>;

struct Safetensors {
  std::vector<TensorView> tensors;  // in the order of their bytes
  TensorMetadata metadata;
};

// Views into `file`, which outlives them. Refused, with the reason: header over kMaxSafetensorsHeaderBytes or beyond
// the file, not starting with '{', not UTF-8 or JSON, a key twice, an unknown field or type, more than kMaxRank
// dimensions, a span that overlaps, leaves a hole, ends early or late, or differs from shape times type (overflow
// included).
base::Expected<Safetensors, ReadFailure> parse_safetensors(Bytes file);

struct LoadedSafetensors {
  std::vector<std::byte> file;  // what `contents` looks into; moving it keeps the views valid
  Safetensors contents;
};

// Reads the whole file. One larger than `max_bytes` is a problem; throws IoError if it cannot be read.
base::Expected<LoadedSafetensors, ReadFailure> load_safetensors(base::FileSystem& file_system, const std::string& path,
                                                                std::uint64_t max_bytes);

// Writes header and tensors to `sink`, copying no tensor. The result depends only on the contents: tensors are sorted
// by type (widest first, so each is aligned), then by name; the header is padded to 8 bytes. It equals, byte for byte,
// what the Python package writes. Names are unique UTF-8, not "__metadata__"; bytes match shape and type.
void write_safetensors(const std::vector<TensorView>& tensors, const TensorMetadata& metadata, const ByteSink& sink);

}  // namespace esper::storage
