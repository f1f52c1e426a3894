#pragma once
// Reading zip archives held in memory: stored and deflated members, checksums verified. Any thread.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/files/raw_samples.h"

namespace esper::data {

struct ZipMember {
  std::string name;
  int method = 0;  // 0 stored, 8 deflated
  std::uint32_t crc = 0;
  std::int64_t packed_size = 0, size = 0;
  std::int64_t header_offset = 0;
};

// The central directory, in which each name occurs once. Throws Error{kData} naming `file` and byte; `file` is for
// messages only.
std::vector<ZipMember> list_zip(std::span<const std::uint8_t> archive, const std::filesystem::path& file);

// One member's bytes. Throws Error{kResources}, before memory is taken, if they do not fit.
Bytes read_zip_member(std::span<const std::uint8_t> archive, const ZipMember& member, const ReadOptions& options,
                      const std::filesystem::path& file);

}  // namespace esper::data
