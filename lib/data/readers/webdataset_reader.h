#pragma once
#include <filesystem>

#include "data/files/input_error.h"
#include "data/files/raw_samples.h"

namespace esper::data {

// WebDataset: a .tar file, or a folder of them in the order of their names. Members with the same name up to the first
// dot, one behind the other, are a sample: its input is .jpg, .jpeg, .png or .npy, its target .cls (a class), or, where
// data.columns.target names members, these of .json. Images are decoded as those of a folder are, arrays are numbers.
// Shards are mapped, not read whole. A sample that lacks something or cannot be read is a bad sample. Throws
// Error{kData} naming shard and member.
RawSamples read_webdataset(const std::filesystem::path& path, const config::DataConfig& config,
                           const ReadOptions& options, BadSamples& bad);

}  // namespace esper::data
