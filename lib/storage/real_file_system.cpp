#include "storage/real_file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace esper::storage {
namespace {

using leyline::FolderEntry;
using leyline::IoError;
using leyline::OpenMode;
using leyline::PathKind;

// The result of a call that says -1 and sets errno, repeated while a signal interrupts it.
template <class Call>
auto retried(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

// The path behind a descriptor, for messages only.
std::string name_of(int handle) {
  char target[4096];
  const auto length = ::readlink(("/proc/self/fd/" + std::to_string(handle)).c_str(), target, sizeof target);
  return length > 0 ? std::string(target, length) : "file " + std::to_string(handle);
}

[[noreturn]] void fail(const char* operation, int handle) {
  const int error_number = errno;
  throw IoError(operation, name_of(handle), error_number);
}

[[noreturn]] void fail(const char* operation, const std::string& path) { throw IoError(operation, path, errno); }

PathKind kind_of_mode(mode_t mode) {
  if (S_ISREG(mode)) return PathKind::kFile;
  return S_ISDIR(mode) ? PathKind::kFolder : PathKind::kOther;
}

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

class RealFileSystem final : public leyline::FileSystem {
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
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
    if (!folder) fail("list", path);
    std::vector<FolderEntry> entries;
    for (;;) {
      errno = 0;
      const dirent* entry = ::readdir(folder.get());
      if (entry == nullptr) break;
      const std::string name = entry->d_name;
      if (name == "." || name == "..") continue;
      struct stat status;
      if (::fstatat(::dirfd(folder.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        entries.push_back({name, kind_of_mode(status.st_mode)});
      } else if (errno != ENOENT) {  // removed by somebody since
        fail("list", std::string(path).append("/").append(name));
      }
    }
    if (errno != 0) fail("list", path);
    std::ranges::sort(entries, {}, &FolderEntry::name);
    return entries;
  }

  PathKind kind_of(const std::string& path) override {
    struct stat status;
    if (::stat(path.c_str(), &status) == 0) return kind_of_mode(status.st_mode);
    if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG) return PathKind::kNothing;
    fail("look at", path);
  }

  void sync_folder(const std::string& path) override {
    const int handle = retried([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (handle < 0) fail("open folder", path);
    const int error_number = retried([&] { return ::fsync(handle); }) < 0 ? errno : 0;
    ::close(handle);
    if (error_number != 0) throw IoError("sync folder", path, error_number);
  }

  std::uint64_t free_bytes(const std::string& path) override {
    struct statvfs status;
    if (retried([&] { return ::statvfs(path.c_str(), &status); }) < 0) fail("ask for free space of", path);
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
    if (retried([&] { return ::flock(handle, LOCK_EX | LOCK_NB); }) == 0) return handle;
    const int error_number = errno;
    ::close(handle);
    if (error_number == EWOULDBLOCK) return -1;
    throw IoError("lock", path, error_number);
  }

  std::size_t write_some(int handle, std::span<const std::byte> bytes) override {
    const auto written = retried([&] { return ::write(handle, bytes.data(), bytes.size()); });
    if (written < 0) fail("write", handle);
    return static_cast<std::size_t>(written);
  }

  std::size_t read_some(int handle, std::uint64_t offset, std::span<std::byte> bytes) override {
    const auto got = retried([&] { return ::pread(handle, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
    if (got < 0) fail("read", handle);
    return static_cast<std::size_t>(got);
  }

  std::uint64_t size_of(int handle) override {
    struct stat status;
    if (::fstat(handle, &status) < 0) fail("ask for the size of", handle);
    return static_cast<std::uint64_t>(status.st_size);
  }

  void truncate_handle(int handle, std::uint64_t bytes) override {
    if (retried([&] { return ::ftruncate(handle, static_cast<off_t>(bytes)); }) < 0) fail("truncate", handle);
  }

  // fdatasync writes the length too; what it leaves out is the time of the last change.
  void sync_handle(int handle) override {
    if (retried([&] { return ::fdatasync(handle); }) < 0) fail("sync", handle);
  }

  // Not retried: Linux frees the descriptor even when close is interrupted.
  void close_handle(int handle) override {
    if (::close(handle) < 0 && errno != EINTR) throw IoError("close", "file " + std::to_string(handle), errno);
  }
};

}  // namespace

leyline::FileSystem& real_file_system() {
  static RealFileSystem file_system;
  return file_system;
}

}  // namespace esper::storage
