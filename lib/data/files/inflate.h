#pragma once
// Bounded decompression over zlib. Any thread.

#include <filesystem>
#include <span>

#include "data/files/raw_samples.h"

namespace esper::data {

// What all members of a gzip file decompress to, found by unfolding them into a small buffer; counting ends once it is
// more than `limit`. Throws Error{kData} naming `file` and the compressed byte where it went wrong.
std::int64_t gzip_size(std::span<const std::uint8_t> packed, std::int64_t limit, const std::filesystem::path& file);

// The members' contents, checksums verified. `size` is what gzip_size() counted. Throws as it does.
Bytes inflate_gzip(std::span<const std::uint8_t> packed, std::int64_t size, const std::filesystem::path& file);

// A raw deflate stream that must decompress to exactly `size` bytes. `offset` is where `packed` begins in `file`.
Bytes inflate_raw(std::span<const std::uint8_t> packed, std::int64_t size, const std::filesystem::path& file,
                  std::int64_t offset);

// No deflate stream of `packed` bytes decompresses to more (a match of 258 bytes costs at least 2 bits).
std::int64_t most_unfolded(std::int64_t packed);

}  // namespace esper::data
