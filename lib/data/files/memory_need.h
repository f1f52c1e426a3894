#pragma once
// Checks whether the memory that a reader needs is available, before it is allocated. An out-of-memory kill names no
// file; this does. Each stage of reading (decompress, parse, split) asks for the memory that it takes beyond what is in
// use by then.

#include <filesystem>
#include <string>

#include "base/memory_room.h"
#include "data/files/raw_samples.h"

namespace esper::data {

// Bytes that a stage may take: options.max_bytes, or seven eighths of what the process may still have. The rest is for
// what is not asked for: batches, the network, the allocator's own needs.
base::MemoryRoom usable_memory(const ReadOptions& options);

// The remedy that the errors below name where a file is read.
constexpr const char* kSmallerFile = "use a smaller file";

// Throws Error{kResources} with file, sizes, limit and remedy if `bytes` more do not fit. `file` may be a field of the
// run file where the data come from none. `what`: "its samples".
void require_memory(const std::filesystem::path& file, const std::string& what, std::int64_t bytes,
                    const ReadOptions& options, const std::string& way_out = kSmallerFile);

// The error that require_memory() throws. `need` is a size as text, such as "more than 12 MiB".
[[noreturn]] void fail_memory(const std::filesystem::path& file, const std::string& what, const std::string& need,
                              const base::MemoryRoom& usable, const std::string& way_out = kSmallerFile);

}  // namespace esper::data
