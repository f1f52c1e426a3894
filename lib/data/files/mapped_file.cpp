#include "data/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "data/files/byte_file.h"
#include "data/files/input_error.h"

namespace esper::data {

MappedFile::MappedFile(const std::filesystem::path& file) {
  const base::Descriptor descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const auto size = static_cast<std::size_t>(require_regular_file(descriptor, file));
  void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor.number(), 0);
  if (memory == MAP_FAILED) {
    throw base::Error(base::ExitCode::kResources,
                      file.string() + ": cannot be mapped into memory: " + std::strerror(errno));
  }
  bytes_ = {static_cast<const std::uint8_t*>(memory), size};
}

MappedFile::~MappedFile() { munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size()); }

}  // namespace esper::data
