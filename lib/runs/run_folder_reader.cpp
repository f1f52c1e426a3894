#include "runs/run_folder_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/file_system.h"
#include "storage/posix_files.h"

namespace esper::runs {

using base::IoError;
using storage::retried;

FolderReader::FolderReader(std::string folder)
    : path_(std::move(folder)),
      folder_(retried([&] { return ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); })) {
  if (!folder_.is_open()) throw IoError("open folder", path_, errno);
}

// O_NONBLOCK: a pipe is not waited for.
FolderReader::OpenFile FolderReader::open(const std::string& name) const {
  const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  OpenFile file{base::Descriptor(retried([&] { return ::openat(folder_.number(), name.c_str(), flags); })), 0,
                path_ + "/" + name};
  if (!file.descriptor.is_open()) throw IoError("open", file.path, errno);
  struct stat status{};
  if (::fstat(file.descriptor.number(), &status) < 0) throw IoError("stat", file.path, errno);
  if (!S_ISREG(status.st_mode)) throw IoError("open", file.path, EINVAL);
  file.size = static_cast<std::uint64_t>(status.st_size);
  return file;
}

std::string FolderReader::OpenFile::read(std::uint64_t from, std::uint64_t most) const {
  std::string text(from < size ? std::min(most, size - from) : 0, '\0');
  std::size_t total = 0;
  while (total < text.size()) {
    const auto got = retried([&] {
      return ::pread(descriptor.number(), text.data() + total, text.size() - total, static_cast<off_t>(from + total));
    });
    if (got < 0) throw IoError("read", path, errno);
    if (got == 0) break;
    total += static_cast<std::size_t>(got);
  }
  text.resize(total);
  return text;
}

std::string FolderReader::read(const std::string& name, std::uint64_t most) const {
  const OpenFile file = open(name);
  if (file.size > most) throw IoError("read", file.path, EFBIG);
  return file.read(0, most);
}

}  // namespace esper::runs
