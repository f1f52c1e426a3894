#pragma once
#include <filesystem>

#include "data/input_error.h"
#include "data/raw_samples.h"

namespace esper::data {

// A folder of images: CLASS/*.jpg|jpeg|png, or train/CLASS/... with test/ or validation/ beside it. Classes are the
// folders' names in order. With data.max_samples the images are picked evenly, after the split, and only those are
// decoded. Always returns both parts: data.validation_path, the folder's own test part, or a split. Decodes with as
// many threads as there are cores. An image that cannot be decoded is a bad sample. Throws Error{kData}.
RawParts read_image_folder(const config::DataConfig& config, const ReadOptions& options, BadSamples& bad);

}  // namespace esper::data
