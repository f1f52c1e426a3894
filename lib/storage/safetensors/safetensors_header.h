#pragma once
// The JSON header of a safetensors file, as written; offsets are not yet checked against anything. Any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "storage/read_failure.h"
#include "storage/safetensors/safetensors.h"

namespace esper::storage {

inline constexpr char kMetadataKey[] = "__metadata__";

struct HeaderTensor {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> offsets;  // begin and end, from the first byte behind the header
};

struct SafetensorsHeader {
  std::vector<HeaderTensor> tensors;  // in the order of the text
  TensorMetadata metadata;
};

base::Expected<SafetensorsHeader, ReadFailure> parse_safetensors_header(std::string_view text);

}  // namespace esper::storage
