#pragma once
// The files directly in a run folder, read with few system calls. No link is followed and only regular files are
// opened. Any thread.

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "base/expected.h"

namespace esper::runs {

class FolderReader {
 public:
  // Links of the path itself are followed. Throws IoError where it is no folder, or cannot be opened.
  explicit FolderReader(std::string folder);

  const base::Descriptor& descriptor() const { return folder_; }

  // An open file and its size.
  struct OpenFile {
    base::Descriptor descriptor;
    std::uint64_t size = 0;
    std::string path;  // for messages

    // As many bytes as are there. Throws IoError.
    std::string read(std::uint64_t from, std::uint64_t most) const;
  };
  // Throws IoError, EINVAL where it is no regular file.
  OpenFile open(const std::string& name) const;

  // The whole file. Throws IoError, EFBIG where it has more than `most` bytes.
  std::string read(const std::string& name, std::uint64_t most) const;

 private:
  std::string path_;
  base::Descriptor folder_;
};

}  // namespace esper::runs
