#include "program/cache/package_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/file_system.h"

namespace esper::program {

PackageFile::PackageFile(storage::Bytes contents) : descriptor_(::memfd_create("esper-program", MFD_CLOEXEC)) {
  if (descriptor_ < 0) throw base::IoError("make", "a file in memory", errno);
  while (!contents.empty()) {
    const auto written = ::write(descriptor_, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error_number = errno;
      ::close(descriptor_);
      throw base::IoError("write", "a file in memory", error_number);
    }
    contents = contents.subspan(static_cast<std::size_t>(written));
  }
}

PackageFile& PackageFile::operator=(PackageFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

PackageFile::~PackageFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace esper::program
