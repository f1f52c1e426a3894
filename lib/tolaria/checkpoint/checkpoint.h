#pragma once
// One checkpoint on disk: a folder that was published whole, with
//   state.safetensors  every tensor of the run by id
//   run.json           everything else (progress, topology, controller), exact numbers
//   preprocessing.json what inputs are made of and outputs mean (data/preprocessing.h); earlier versions wrote none
//   manifest.json      sizes and hashes, and the fields of CheckpointInfo
// No tensor in it is NaN or infinite, and nothing in it is code.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "history/growth/checkpoint_list.h"
#include "kasmina/tensor/tensor_table.h"
#include "storage/atomic_publish.h"
#include "storage/read_failure.h"

namespace esper::tolaria {

struct CheckpointInfo {
  std::int64_t step = 0;
  std::uint32_t epoch = 0;    // epochs completed
  std::string training_hash;  // of the configuration that decides what is computed
  bool operator==(const CheckpointInfo&) const = default;
};

// A checkpoint in memory, independent of the running state: CPU copies that are never modified. Any thread.
struct CheckpointImage {
  CheckpointInfo info;
  std::vector<kasmina::NamedTensor> tensors;
  nlohmann::json run;
  std::string preprocessing{};  // text of preprocessing.json; empty: there is none
};

// Copies the tensors to the CPU, contiguous. Training thread; waits for the device.
std::vector<kasmina::NamedTensor> copy_to_cpu(const std::vector<kasmina::NamedTensor>& tensors);
std::vector<torch::Tensor> copy_to_cpu(const std::vector<torch::Tensor>& tensors);

// The first tensor ("tensor host.weight") or number of `run` ("run.json: /progress/step") that is NaN or infinite;
// empty if all are finite.
std::string first_not_finite(const CheckpointImage& image);

// Publishes `path`. The image's tensors must be contiguous and on the CPU. further: files besides those above. Returns
// its size in bytes. Throws IoError; then `path` does not exist.
std::uint64_t write_checkpoint(base::FileSystem& files, const std::string& path, const CheckpointImage& image,
                               const std::vector<storage::FolderFile>& further = {});

// Of one that is there, as write_checkpoint returned it; 0 if it cannot be read.
std::uint64_t checkpoint_bytes(base::FileSystem& files, const std::string& path);

// Verifies every byte and returns the manifest's info. Throws as read_checkpoint.
base::Expected<CheckpointInfo, storage::ReadFailure> verify_checkpoint(base::FileSystem& files,
                                                                       const std::string& path);

using history::read_run_json;

// Verifies every byte, then reads. Damaged as defined by verify_folder; an intact checkpoint that is not understood is
// unreadable. Throws IoError only for errors that are not the checkpoint's. A tensor may be NaN or infinite: the state
// of a bundle (step_bundle.h) may be one that no run saves.
base::Expected<CheckpointImage, storage::ReadFailure> read_image(base::FileSystem& files, const std::string& path);

// The same of a checkpoint: one with a tensor that is not finite is damaged, too, whatever its hashes say.
base::Expected<CheckpointImage, storage::ReadFailure> read_checkpoint(base::FileSystem& files, const std::string& path);

// "PATH is damaged: PROBLEM", or "PATH cannot be read: PROBLEM".
std::string why_unusable(const std::string& path, const storage::ReadFailure& failure);

}  // namespace esper::tolaria
