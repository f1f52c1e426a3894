#pragma once
// What the scripts/record_*.py of the parity tests recorded.

#include <torch/types.h>

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <map>
#include <string>

#include "storage/real_file_system.h"
#include "storage/safetensors/safetensors.h"

namespace esper::test {

struct RecordedTensors {
  storage::TensorMetadata metadata;
  std::map<std::string, torch::Tensor> tensors;
};

inline torch::Tensor to_tensor(const storage::TensorView& view) {
  using storage::Dtype;
  static const std::map<Dtype, torch::ScalarType> kTypes = {{Dtype::kF32, torch::kFloat32},
                                                            {Dtype::kF64, torch::kFloat64},
                                                            {Dtype::kI32, torch::kInt32},
                                                            {Dtype::kI64, torch::kInt64}};
  torch::Tensor tensor = at::empty(view.shape, kTypes.at(view.dtype));
  REQUIRE(tensor.nbytes() == view.bytes.size());
  if (!view.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
  return tensor;
}

// Of baselines/parity/NAME.safetensors.
inline RecordedTensors load_recorded(const std::string& name) {
  const std::string path = ESPER_SOURCE_DIR "/baselines/parity/" + name + ".safetensors";
  const auto loaded = storage::load_safetensors(storage::real_file_system(), path, 1 << 20);
  INFO(path << ": " << loaded.error_or({}).problem);
  REQUIRE(loaded);
  RecordedTensors recorded{loaded->contents.metadata, {}};
  for (const auto& view : loaded->contents.tensors) recorded.tensors[view.name] = to_tensor(view);
  return recorded;
}

}  // namespace esper::test
