#include "storage/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fault.h"
#include "storage/posix_files.h"

namespace esper::storage {
namespace {

using base::IoError;

// A store into a hole of the file would end the process with SIGBUS where the disk is full.
// What was in the file before stays in it if there is no space.
void allocate(int file, const std::string& path, std::size_t bytes, off_t had) {
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (error == 0 && base::fault::hit("storage.map")) error = ENOSPC;
  if (error == 0) return;
  [[maybe_unused]] const int shortened = ::ftruncate(file, had);
  throw IoError("allocate", path, error);
}

}  // namespace

MappedFile::MappedFile(const Beneath& folder, const std::string& path, std::size_t bytes) {
  const base::Descriptor file = folder.open_file(path, O_RDWR | O_CREAT);
  struct stat status{};
  if (::fstat(file.number(), &status) < 0) throw IoError("get the size of", path, errno);
  was_cleared_ = status.st_size != 0 && status.st_size != static_cast<off_t>(bytes);
  if (was_cleared_ && retried([&] { return ::ftruncate(file.number(), 0); }) < 0) {
    throw IoError("truncate", path, errno);
  }
  allocate(file.number(), path, bytes, was_cleared_ ? 0 : status.st_size);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number(), 0);
  if (memory == MAP_FAILED) throw IoError("map", path, errno);
  bytes_ = {static_cast<std::byte*>(memory), bytes};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace esper::storage
