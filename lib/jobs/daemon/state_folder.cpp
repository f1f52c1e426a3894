#include "jobs/daemon/state_folder.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.h"
#include "base/file_system.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::jobs {
namespace {

bool is_daemons(const std::string& folder) {
  constexpr std::array kOwnFiles{"jobs.db", "lock", "daemon.yaml", "daemon.log"};
  return std::ranges::any_of(kOwnFiles, [&](const char* name) {
    return storage::real_file_system().kind_of(folder + "/" + name) == base::PathKind::kFile;
  });
}

}  // namespace

void make_state_folder(const std::string& path) {
  const std::string parent = storage::parent_of(path);
  storage::ensure_folder(storage::real_file_system(), parent);
  if (::mkdir(path.c_str(), 0700) == 0) return storage::real_file_system().sync_folder(parent);
  if (errno != EEXIST) throw base::IoError("make folder", path, errno);
  struct stat status{};
  if (::stat(path.c_str(), &status) < 0) throw base::IoError("stat", path, errno);
  if (!S_ISDIR(status.st_mode)) throw base::IoError("open folder", path, ENOTDIR);
  if ((status.st_mode & 0077) == 0) return;
  if (!is_daemons(path)) {
    throw base::Error(base::ExitCode::kConfig,
                      fmt::format("other users may enter {}, and it has no files of a daemon: if it is for the daemon "
                                  "alone, chmod 700 {}; otherwise give another --state-dir",
                                  path, path));
  }
  if (::chmod(path.c_str(), 0700) < 0) throw base::IoError("change the mode of", path, errno);
}

}  // namespace esper::jobs
