#pragma once
// Small jobs over a FileSystem that every room needs. All throw IoError. Any thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file_system.h"

namespace esper::storage {

// "a/b" for "a/b/c", "." for "c", "/" for "/c".
std::string parent_of(const std::string& path);

// The whole file; EFBIG, and nothing read, if it is larger than `max_bytes`.
std::vector<std::byte> read_file(base::FileSystem& file_system, const std::string& path, std::uint64_t max_bytes);

// Makes the folder and those above it, and makes the new entries durable.
void ensure_folder(base::FileSystem& file_system, const std::string& path);

// A file, or a folder with all that is in it; links are removed, not followed. Nothing there is no error.
void remove_all(base::FileSystem& file_system, const std::string& path);

// `path` itself, else `path`-2, `path`-3, ...: the first name that is not taken.
std::string free_name(base::FileSystem& file_system, const std::string& path);

}  // namespace esper::storage
