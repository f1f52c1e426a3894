#pragma once
// Bounded decompression over zlib. Any thread.

#include <filesystem>
#include <span>

#include "data/raw_samples.h"

namespace esper::data {

// All members of a gzip file, checksums verified. Memory grows with what really comes out, never past `limit` bytes.
// Throws Error{kData} naming `file` and the compressed byte where it went wrong.
Bytes inflate_gzip(std::span<const std::uint8_t> packed, std::int64_t limit, const std::filesystem::path& file);

// A raw deflate stream that must unfold to exactly `size` bytes. `offset` is where `packed` begins in `file`.
Bytes inflate_raw(std::span<const std::uint8_t> packed, std::int64_t size, const std::filesystem::path& file,
                  std::int64_t offset);

// No deflate stream of `packed` bytes unfolds to more (a match of 258 bytes costs at least 2 bits).
std::int64_t most_unfolded(std::int64_t packed);

}  // namespace esper::data
