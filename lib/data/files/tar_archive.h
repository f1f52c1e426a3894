#pragma once
// The members of a tar archive (ustar, pax and GNU's long names) that lies in memory. Any thread.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/files/raw_samples.h"

namespace esper::data {

struct TarMember {
  std::string name;
  std::int64_t begin = 0, size = 0;  // where its bytes lie in the archive
};

// Regular files, in their order; folders and links are passed over. Throws Error{kData} naming `file` and byte for an
// archive that is damaged, cut or compressed; `file` is for messages only.
std::vector<TarMember> list_tar(std::span<const std::uint8_t> archive, const std::filesystem::path& file);

}  // namespace esper::data
