#include "storage/folder_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include "storage/beneath.h"
#include "storage/bytes.h"
#include "storage/file_tools.h"
#include "storage/posix_files.h"

namespace esper::storage {
namespace {

constexpr std::uint64_t kMaxHolderBytes = 4096;
constexpr char kLockName[] = "lock";

std::string this_process() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return fmt::format("process {} on {}", ::getpid(), host);
}

std::string read_holder(base::FileSystem& file_system, const std::string& path) {
  const auto contents = read_file(file_system, path, kMaxHolderBytes);
  const std::string holder(text_of(contents));
  return holder.empty() ? "another process" : holder;
}

}  // namespace

FolderLockAttempt try_lock_folder(base::FileSystem& file_system, const std::string& folder) {
  const std::string path = folder + "/" + kLockName;
  auto lock = file_system.try_lock(path);
  if (!lock) return {std::nullopt, read_holder(file_system, path)};
  try {
    lock->truncate(0);
    lock->write(bytes_of(this_process()));
  } catch (const base::IoError& error) {
    // The name only serves a message. A run must be able to start on a full disk: it may be there to make room.
    if (!error.out_of_space()) throw;
  }
  return {std::move(lock), {}};
}

FolderUse folder_use(const base::Descriptor& opened, const std::string& folder) {
  const std::string path = folder + "/" + kLockName;
  try {
    const auto file = Beneath(folder, Owner::kAnyone).open_file(opened, kLockName, path, O_RDONLY);
    if (retried([&] { return ::flock(file.number(), LOCK_SH | LOCK_NB); }) == 0) return FolderUse::kFree;
    if (errno == EWOULDBLOCK) return FolderUse::kHeld;
    throw base::IoError("lock", path, errno);
  } catch (const base::IoError& error) {
    if (error.error_number() != ENOENT) throw;
    return FolderUse::kFree;
  }
}

}  // namespace esper::storage
