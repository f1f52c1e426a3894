#pragma once
// Whole files as bytes, within a limit. Any thread.

#include <filesystem>

#include "base/descriptor.h"
#include "data/files/raw_samples.h"

namespace esper::data {

// The size of an open file. Throws Error{kData} naming `path` if it could not be opened, is empty or no regular file.
std::int64_t require_regular_file(const base::Descriptor& file, const std::filesystem::path& path);

// The file's bytes; a gzip file (recognised by its first two bytes) is decompressed. Throws Error{kData} if the file is
// missing, empty, not a regular file, unreadable or damaged as gzip, and Error{kResources}, before memory is taken, if
// the bytes do not fit.
Bytes read_bytes(const std::filesystem::path& file, const ReadOptions& options);

// The file as it is, gzip or not.
Bytes read_bytes_raw(const std::filesystem::path& file, const ReadOptions& options);

}  // namespace esper::data
