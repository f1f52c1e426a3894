#pragma once
// The network's weights: named float32 tensors on the CPU, read from and written to safetensors files. A file that
// PyTorch Geometric's state_dict was saved to is read as it is.

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "base/expected.h"
#include "base/file_system.h"
#include "storage/safetensors.h"

namespace esper::tamiyo {

// Complete: every name of network_tensors(), each of its shape, contiguous.
using Weights = std::map<std::string, at::Tensor>;

inline constexpr std::uint64_t kMaxPolicyBytes = std::uint64_t{64} << 20;  // the weights are 56 MB

struct PolicyFile {
  Weights weights;
  storage::TensorMetadata metadata;  // as written; free text to this reader
};

// Fails where the file is damaged or larger than kMaxPolicyBytes, or a tensor is missing, unknown, of another type or
// shape, or has a value that is not finite; names the tensor. Throws IoError if it cannot be read.
base::Expected<PolicyFile> load_policy(base::FileSystem& file_system, const std::string& path);

// Replaces what is at `path`, atomically.
void save_policy(base::FileSystem& file_system, const std::string& path, const PolicyFile& policy);

}  // namespace esper::tamiyo
