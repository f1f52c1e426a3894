#pragma once
// Tensors as a safetensors file. Training thread.

#include <string>
#include <vector>

#include "base/expected.h"
#include "base/file_system.h"
#include "kasmina/tensor/tensor_table.h"
#include "storage/bytes.h"

namespace esper::porting {

// float32, int64 or uint8, on any device. Equal values make equal bytes.
void write_weights(const std::vector<kasmina::NamedTensor>& values, const storage::ByteSink& sink);

// Fails with the reason where the file does not hold these values and no others. Throws IoError.
base::Expected<void> check_weights(base::FileSystem& files, const std::string& path,
                                   const std::vector<kasmina::NamedTensor>& values);

}  // namespace esper::porting
