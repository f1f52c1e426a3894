#include "jobs/machine/disk.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>

#include "storage/file_tools.h"

namespace esper::jobs {

std::optional<Disk> disk_of(const std::string& folder) {
  std::string path = folder;
  struct stat status{};
  while (::stat(path.c_str(), &status) < 0) {
    const std::string above = storage::parent_of(path);
    if (errno != ENOENT || above == path) return std::nullopt;
    path = above;
  }
  struct statvfs space{};
  if (::statvfs(path.c_str(), &space) < 0) return std::nullopt;
  const auto bytes = [&](fsblkcnt_t blocks) { return static_cast<std::int64_t>(blocks * space.f_frsize); };
  return Disk{static_cast<std::uint64_t>(status.st_dev), bytes(space.f_blocks), bytes(space.f_bavail)};
}

}  // namespace esper::jobs
