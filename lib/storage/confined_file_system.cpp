#include "storage/confined_file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>

#include "storage/real_file_system.h"

namespace esper::storage {

using base::IoError;
using base::OpenMode;
using base::PathKind;

// Not the folder itself: its own name is the user's word.
bool ConfinedFileSystem::is_below(const std::string& path) const {
  const auto inside = beneath_.inside(path);
  return inside && !inside->empty();
}

void ConfinedFileSystem::make_folder(const std::string& path) {
  if (is_below(path)) return beneath_.make_folder(path);
  if (beneath_.owner() == Owner::kAnyone) return real_file_system().make_folder(path);
  if (::mkdir(path.c_str(), 0700) < 0) throw IoError("make folder", path, errno);
}

void ConfinedFileSystem::rename(const std::string& from, const std::string& to) {
  const auto source = beneath_.place_of(from), target = beneath_.place_of(to);
  if (::renameat(source.folder.number(), source.name.c_str(), target.folder.number(), target.name.c_str()) < 0) {
    throw IoError("rename " + from + " to", to, errno);
  }
}

void ConfinedFileSystem::rename_new(const std::string& from, const std::string& to) {
  const auto source = beneath_.place_of(from), target = beneath_.place_of(to);
  if (::renameat2(source.folder.number(), source.name.c_str(), target.folder.number(), target.name.c_str(),
                  RENAME_NOREPLACE) == 0) {
    return;
  }
  if (errno != EINVAL) throw IoError("rename " + from + " to", to, errno);
  // Not every file system can do it in one step.
  if (kind_of(to) != PathKind::kNothing) throw IoError("rename " + from + " to", to, EEXIST);
  rename(from, to);
}

void ConfinedFileSystem::remove(const std::string& path) {
  const auto place = beneath_.place_of(path);
  if (::unlinkat(place.folder.number(), place.name.c_str(), 0) == 0) return;
  if (errno == EISDIR && ::unlinkat(place.folder.number(), place.name.c_str(), AT_REMOVEDIR) == 0) return;
  throw IoError("remove", path, errno);
}

std::vector<base::FolderEntry> ConfinedFileSystem::list(const std::string& path) {
  if (!beneath_.inside(path)) return real_file_system().list(path);
  return list_folder(beneath_.open_folder(path).release(), path);
}

PathKind ConfinedFileSystem::kind_of(const std::string& path) {
  if (!is_below(path)) return real_file_system().kind_of(path);
  try {
    const auto status = beneath_.status_of(path);
    return status ? kind_of_mode(status->st_mode) : PathKind::kNothing;
  } catch (const IoError& error) {  // a folder on the way is missing, or is a file
    if (error.error_number() == ENOENT || error.error_number() == ENOTDIR) return PathKind::kNothing;
    throw;
  }
}

void ConfinedFileSystem::sync_folder(const std::string& path) {
  if (!is_below(path)) return real_file_system().sync_folder(path);
  const auto folder = beneath_.open_folder(path);
  if (::fsync(folder.number()) < 0) throw IoError("sync folder", path, errno);
}

std::uint64_t ConfinedFileSystem::free_bytes(const std::string& path) {
  if (!is_below(path)) return real_file_system().free_bytes(path);
  const auto place = beneath_.place_of(path);
  struct statvfs status{};
  if (retried([&] { return ::fstatvfs(place.folder.number(), &status); }) < 0) {
    throw IoError("get the free space of", path, errno);
  }
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

int ConfinedFileSystem::open_handle(const std::string& path, OpenMode mode) {
  if (mode == OpenMode::kRead) return beneath_.open_file(path, O_RDONLY).release();
  return beneath_.open_file(path, O_WRONLY | O_CREAT | (mode == OpenMode::kAppend ? O_APPEND : O_TRUNC)).release();
}

int ConfinedFileSystem::try_lock_handle(const std::string& path) {
  return lock_or_close(beneath_.open_file(path, O_RDWR | O_CREAT).release(), path);
}

}  // namespace esper::storage
