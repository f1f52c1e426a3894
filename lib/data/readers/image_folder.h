#pragma once
#include <filesystem>

#include "data/files/input_error.h"
#include "data/files/raw_samples.h"
#include "data/readers/image_list.h"
#include "data/readers/test_part.h"

namespace esper::data {

// A folder of images: CLASS/*.jpg|jpeg|png, or train/CLASS/... with test/ or validation/ beside it. Classes are the
// folders' names in order, or targets stand in the CSV file data.labels (image_list.h). With data.max_samples the
// images are picked evenly, after the split, and only those are decoded. Always returns training and validation part,
// which is split off where there is no folder for it; the test part where it is to be read and the run names one.
// Decodes with as many threads as there are cores. An image that cannot be decoded is a bad sample. Throws
// Error{kData}.
RawParts read_image_folder(const config::DataConfig& config, const ReadOptions& options, BadSamples& bad,
                           TestPart test = TestPart::kUnread);

// The images below data.test_path alone, or below its folder test where it has one.
RawSamples read_image_test(const config::DataConfig& config, const ReadOptions& options, BadSamples& bad);

// The images of any list, with the targets of those that could be read.
RawSamples decode_images(const ImageList& list, const config::DataConfig& config, const ReadOptions& options,
                         BadSamples& bad);

}  // namespace esper::data
