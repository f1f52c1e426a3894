#pragma once
// One checkpoint on disk: a folder that was published whole, with
//   state.safetensors  every tensor of the run by id
//   run.json           everything else (progress, topology, controller), exact numbers
//   manifest.json      sizes and hashes, and the fields of CheckpointInfo
// No tensor in it is NaN or infinite, and nothing in it is code.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "kasmina/tensor_table.h"
#include "storage/read_failure.h"

namespace esper::tolaria {

struct CheckpointInfo {
  std::int64_t step = 0;
  std::uint32_t epoch = 0;    // epochs completed
  std::string training_hash;  // of the configuration that decides what is computed
  bool operator==(const CheckpointInfo&) const = default;
};

// In memory, independent of the running state: CPU copies that nobody changes. Any thread.
struct CheckpointImage {
  CheckpointInfo info;
  std::vector<kasmina::NamedTensor> tensors;
  nlohmann::json run;
};

// Copies the tensors to the CPU. Training thread; waits for the device.
std::vector<kasmina::NamedTensor> copy_to_cpu(const std::vector<kasmina::NamedTensor>& tensors);

// The first tensor ("tensor host.weight") or number of `run` ("run.json: /progress/step") that is NaN or infinite;
// empty if none is.
std::string first_not_finite(const CheckpointImage& image);

// Publishes `path`. The image's tensors are contiguous and on the CPU. Returns its size in bytes. Throws IoError;
// nothing is at `path` then.
std::uint64_t write_checkpoint(base::FileSystem& files, const std::string& path, const CheckpointImage& image);

// Verifies every byte and says whose checkpoint it is. Throws as read_checkpoint.
base::Expected<CheckpointInfo, storage::ReadFailure> verify_checkpoint(base::FileSystem& files,
                                                                       const std::string& path);

// run.json alone, not verified: what else is in the folder is not looked at. A discarded value where it is no JSON.
// Throws IoError.
nlohmann::json read_run_json(base::FileSystem& files, const std::string& path);

// Verifies every byte, then reads. Damaged as verify_folder has it; what is whole but not understood is unreadable.
// Throws IoError only for trouble that is not the checkpoint's.
base::Expected<CheckpointImage, storage::ReadFailure> read_checkpoint(base::FileSystem& files, const std::string& path);

// "PATH is damaged: PROBLEM", or "PATH cannot be read: PROBLEM".
std::string why_unusable(const std::string& path, const storage::ReadFailure& failure);

}  // namespace esper::tolaria
