#pragma once
#include <filesystem>

#include "data/files/input_error.h"
#include "data/files/raw_samples.h"
#include "data/readers/test_part.h"

namespace esper::data {

constexpr const char* kImageTestFolder = "test";

// `folder`/train where there is one, else `folder`.
std::filesystem::path image_training_folder(const std::filesystem::path& folder);
// data.validation_path, else what data.path has beside its train: validation, or test where the run names no test_path.
std::optional<std::filesystem::path> image_validation_folder(const config::DataConfig& config);

// A folder of images: CLASS/*.jpg|jpeg|png, or train/CLASS/... with test/ or validation/ beside it. Classes are the
// folders' names in order. With data.max_samples the images are picked evenly, after the split, and only those are
// decoded. Always returns training and validation part, which is split off where there is no folder for it; the test
// part where it is to be read and the run names one. Decodes with as many threads as there are cores. An image that
// cannot be decoded is a bad sample. Throws Error{kData}.
RawParts read_image_folder(const config::DataConfig& config, const ReadOptions& options, BadSamples& bad,
                           TestPart test = TestPart::kUnread);

}  // namespace esper::data
