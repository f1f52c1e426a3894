#pragma once
// A file as memory, without reading it: the kernel brings in what is touched, and drops it under pressure. Any thread.

#include <cstdint>
#include <filesystem>
#include <span>

namespace esper::data {

// The file must not become shorter while it is in use: the process would be killed.
class MappedFile {
 public:
  // Throws Error{kData} if the file is missing, empty, not a regular file or unreadable, and Error{kResources} where
  // there is no room for it in the address space.
  explicit MappedFile(const std::filesystem::path& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::uint8_t> bytes() const { return bytes_; }

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace esper::data
