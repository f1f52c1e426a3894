#include "storage/posix_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

namespace esper::storage {
namespace {

using base::FolderEntry;
using base::IoError;
using base::PathKind;

constexpr int kLockTries = 50;

// The path behind a descriptor, for messages only.
std::string name_of(int handle) {
  char target[4096];
  const auto length = ::readlink(fmt::format("/proc/self/fd/{}", handle).c_str(), target, sizeof target);
  return length > 0 ? std::string(target, length) : fmt::format("file {}", handle);
}

[[noreturn]] void fail(const char* operation, int handle) {
  const int error_number = errno;
  throw IoError(operation, name_of(handle), error_number);
}

}  // namespace

PathKind kind_of_mode(unsigned mode) {
  if (S_ISREG(mode)) return PathKind::kFile;
  return S_ISDIR(mode) ? PathKind::kFolder : PathKind::kOther;
}

std::vector<FolderEntry> list_folder(int descriptor, const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::fdopendir(descriptor), ::closedir);
  if (!folder) {
    const int error_number = errno;
    ::close(descriptor);
    throw IoError("list", path, error_number);
  }
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
      throw IoError("list", std::string(path).append("/").append(name), errno);
    }
  }
  if (errno != 0) throw IoError("list", path, errno);
  std::ranges::sort(entries, {}, &FolderEntry::name);
  return entries;
}

// Who only looks whether the lock is held (folder_use) shares it for an instant. That is no holder.
int PosixFiles::lock_or_close(int handle, const std::string& path) {
  const auto lock = [&](int how) { return retried([&] { return ::flock(handle, how | LOCK_NB); }); };
  int result = lock(LOCK_EX);
  for (int tries = 1; result < 0 && errno == EWOULDBLOCK && tries < kLockTries; ++tries) {
    if (lock(LOCK_SH) < 0) break;
    lock(LOCK_UN);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    result = lock(LOCK_EX);
  }
  if (result == 0) return handle;
  const int error_number = errno;
  ::close(handle);
  if (error_number == EWOULDBLOCK) return -1;
  throw IoError("lock", path, error_number);
}

std::size_t PosixFiles::write_some(int handle, std::span<const std::byte> bytes) {
  const auto written = retried([&] { return ::write(handle, bytes.data(), bytes.size()); });
  if (written < 0) fail("write", handle);
  return static_cast<std::size_t>(written);
}

std::size_t PosixFiles::read_some(int handle, std::uint64_t offset, std::span<std::byte> bytes) {
  const auto got = retried([&] { return ::pread(handle, bytes.data(), bytes.size(), static_cast<off_t>(offset)); });
  if (got < 0) fail("read", handle);
  return static_cast<std::size_t>(got);
}

std::uint64_t PosixFiles::size_of(int handle) {
  struct stat status;
  if (::fstat(handle, &status) < 0) fail("get the size of", handle);
  return static_cast<std::uint64_t>(status.st_size);
}

void PosixFiles::truncate_handle(int handle, std::uint64_t bytes) {
  if (retried([&] { return ::ftruncate(handle, static_cast<off_t>(bytes)); }) < 0) fail("truncate", handle);
}

// Only what the disk itself says counts: a file system that cannot do this is still synced.
void PosixFiles::start_sync_handle(int handle) {
  if (retried([&] { return ::sync_file_range(handle, 0, 0, SYNC_FILE_RANGE_WRITE); }) == 0) return;
  if (errno == EIO || errno == ENOSPC || errno == EDQUOT) fail("sync", handle);
}

// fdatasync writes the length too; what it leaves out is the time of the last change.
void PosixFiles::sync_handle(int handle) {
  if (::fdatasync(handle) < 0) fail("sync", handle);
}

// Not retried: Linux frees the descriptor even when close is interrupted.
void PosixFiles::close_handle(int handle) {
  if (::close(handle) < 0 && errno != EINTR) throw IoError("close", fmt::format("file {}", handle), errno);
}

}  // namespace esper::storage
