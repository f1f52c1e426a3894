#pragma once
// The test part of a data set: where it lies, and that it is there. Reads no sample. Any thread.

#include <filesystem>
#include <optional>

#include "config/data_config.h"

namespace esper::data {

// Whether loading reads the test part. Training never does.
enum class TestPart { kUnread, kRead };

// What data of this kind at `path` bring along for testing: MNIST's t10k images, test_batch.bin, the folder test,
// x_test.npy, the folder test of a saved data set. Nullopt where there is none, and for a single file.
std::optional<std::filesystem::path> own_test_part(config::DataKind kind, const std::filesystem::path& path);

// Whether both exist and are the same file or folder.
bool same_place(const std::filesystem::path& a, const std::filesystem::path& b);

// Throws MissingData if data.path, data.validation_path or data.test_path names nothing, and Error{kConfig} if the
// validation data are those that train, or the test data those that train or validate.
void require_places(const config::DataConfig& config);
// The latter of data.test_path alone, where the other data are there.
void require_test_place(const config::DataConfig& config);

}  // namespace esper::data
