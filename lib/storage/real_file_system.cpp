#include "storage/real_file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>

#include "storage/posix_files.h"

namespace esper::storage {
namespace {

using base::FolderEntry;
using base::IoError;
using base::OpenMode;
using base::PathKind;

[[noreturn]] void fail(const char* operation, const std::string& path) { throw IoError(operation, path, errno); }

int open_for_reading(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for a writer. It changes nothing for a regular file.
  const int handle = retried([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  if (handle < 0) fail("open", path);
  struct stat status;
  const int error_number = ::fstat(handle, &status) < 0 ? errno
                           : S_ISDIR(status.st_mode)    ? EISDIR
                           : !S_ISREG(status.st_mode)   ? EINVAL
                                                        : 0;
  if (error_number == 0) return handle;
  ::close(handle);
  throw IoError("open", path, error_number);
}

class RealFileSystem final : public PosixFiles {
 public:
  void make_folder(const std::string& path) override {
    if (::mkdir(path.c_str(), 0777) < 0) fail("make folder", path);
  }

  void rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) < 0) throw IoError("rename " + from + " to", to, errno);
  }

  void remove(const std::string& path) override {
    if (std::remove(path.c_str()) < 0) fail("remove", path);
  }

  std::vector<FolderEntry> list(const std::string& path) override {
    const int folder = retried([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (folder < 0) fail("list", path);
    return list_folder(folder, path);
  }

  PathKind kind_of(const std::string& path) override {
    struct stat status;
    if (::stat(path.c_str(), &status) == 0) return kind_of_mode(status.st_mode);
    if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG) return PathKind::kNothing;
    fail("stat", path);
  }

  void sync_folder(const std::string& path) override {
    const int handle = retried([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (handle < 0) fail("open folder", path);
    const int error_number = ::fsync(handle) < 0 ? errno : 0;
    ::close(handle);
    if (error_number != 0) throw IoError("sync folder", path, error_number);
  }

  std::uint64_t free_bytes(const std::string& path) override {
    struct statvfs status;
    if (retried([&] { return ::statvfs(path.c_str(), &status); }) < 0) fail("get the free space of", path);
    return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  }

 private:
  int open_handle(const std::string& path, OpenMode mode) override {
    if (mode == OpenMode::kRead) return open_for_reading(path);
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (mode == OpenMode::kAppend ? O_APPEND : O_TRUNC);
    const int handle = retried([&] { return ::open(path.c_str(), flags, 0666); });
    if (handle < 0) fail("open", path);
    return handle;
  }

  int try_lock_handle(const std::string& path) override {
    const int handle = retried([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
    if (handle < 0) fail("open", path);
    return lock_or_close(handle, path);
  }
};

}  // namespace

base::FileSystem& real_file_system() {
  static RealFileSystem file_system;
  return file_system;
}

}  // namespace esper::storage
