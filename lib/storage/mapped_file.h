#pragma once
// A file that is a part of this process's memory: what was stored there is in the file although the process is killed
// right after, without a system call. A power loss may take the last seconds. Any thread, if callers agree on who
// stores.

#include <cstddef>
#include <span>
#include <string>

#include "storage/beneath.h"

namespace esper::storage {

class MappedFile {
 public:
  // The file `path` below the folder, made where there is none, with this length and all of its blocks on the disk: a
  // disk that is full later is no concern of stores. A file of another length is cleared: all zero, as a new one.
  // Throws IoError, and UnsafePath for a link and the like.
  MappedFile(const Beneath& folder, const std::string& path, std::size_t bytes);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<std::byte> bytes() const { return bytes_; }
  // There was a file of another length.
  bool was_cleared() const { return was_cleared_; }

 private:
  std::span<std::byte> bytes_;
  bool was_cleared_ = false;
};

}  // namespace esper::storage
