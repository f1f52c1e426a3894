#pragma once
#include <filesystem>

#include "data/files/raw_samples.h"

namespace esper::data {

// The IDX files of MNIST and its kin, .gz too. `path` is a folder with the standard names (train-images-idx3-ubyte,
// train-labels-idx1-ubyte, and t10k-... for testing) or the file of images, whose labels lie beside it under the same
// name with "labels" for "images". Images [N, H, W] become [1, H, W], [N, C, H, W] stay, [N, F] are features. Throws
// Error{kData} naming file and byte.
RawParts read_idx(const std::filesystem::path& path, const ReadOptions& options, Parts wanted = Parts::kAll);

// The file of a folder's training images, and that of its test images.
std::optional<std::filesystem::path> find_idx_training(const std::filesystem::path& folder);
std::optional<std::filesystem::path> find_idx_test(const std::filesystem::path& folder);

}  // namespace esper::data
