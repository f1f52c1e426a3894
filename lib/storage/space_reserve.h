#pragma once
// Space on a disk that is kept for later: a file of zeros, which is given up when the space is needed. Where a file
// system compresses or shares blocks, it keeps less. One thread at a time.

#include <cstdint>
#include <string>

#include "base/file_system.h"

namespace esper::storage {

class SpaceReserve {
 public:
  // path: the file, which may be there from an earlier process.
  SpaceReserve(base::FileSystem& files, std::string path);

  // Keeps at least so many bytes from now on. Throws IoError; then it keeps what it kept before.
  void grow_to(std::uint64_t bytes);
  // The bytes that were kept; 0: none. Nothing is kept from now on. Throws IoError.
  std::uint64_t release();
  std::uint64_t bytes() const { return bytes_; }

 private:
  base::FileSystem* files_;
  std::string path_;
  std::uint64_t bytes_ = 0;
};

}  // namespace esper::storage
