#pragma once
// A compiled package as a reader holds it: bytes that were checked, under a path that only this process has and that
// goes with the scope. Eviction, replacement and damage of the cache's own file cannot touch it. Any thread.

#include <string>
#include <utility>

#include "storage/bytes.h"

namespace esper::program {

class PackageFile {
 public:
  // A file in memory (memfd). Throws IoError.
  explicit PackageFile(storage::Bytes contents);
  PackageFile(PackageFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  PackageFile& operator=(PackageFile&& other) noexcept;
  ~PackageFile();

  // Good for opening in this process, while the object lives.
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace esper::program
