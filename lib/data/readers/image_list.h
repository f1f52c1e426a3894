#pragma once
// Which image files a data set has, and their targets; no image is opened. Any thread.

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "data/files/input_error.h"
#include "data/files/raw_samples.h"
#include "data/readers/test_part.h"

namespace esper::data {

constexpr const char* kImageTestFolder = "test";

// `folder`/train where there is one, else `folder`.
std::filesystem::path image_training_folder(const std::filesystem::path& folder);
// data.validation_path, else what data.path has beside its train: validation, val or valid, or test where the run names
// no test_path.
std::optional<std::filesystem::path> image_validation_folder(const config::DataConfig& config);

struct ImageList {
  std::vector<std::filesystem::path> files;
  std::vector<std::span<const std::uint8_t>> contents = {};  // of files that lie in an archive; empty: on the disk
  RawSamples targets = {};                                   // without values
};

// The images with these numbers, in this order.
ImageList chosen_images(const ImageList& list, const std::vector<std::int64_t>& chosen);

struct ImageParts {
  ImageList train, validation;
  std::optional<ImageList> test;
};

// Classes are folders, or the targets stand in the CSV files that data.labels, data.validation_path and data.test_path
// name. Parts without a path are split off. A row whose path leads out of data.path is a bad sample. Throws
// Error{kData}, and Error{kConfig} for columns that are not there.
ImageParts list_image_parts(const config::DataConfig& config, const ReadOptions& options, BadSamples& bad,
                            TestPart test);

// What data.test_path names alone.
ImageList list_image_test(const config::DataConfig& config, const ReadOptions& options, BadSamples& bad);

}  // namespace esper::data
