#include "program/cache/cache_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace esper::program {
namespace {

constexpr char kWayOut[] = "; name another folder with step.compile.cache_dir or ESPER_CACHE";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string wanted_folder(const std::string& configured) {
  if (!configured.empty()) return configured;
  if (const auto own = environment("ESPER_CACHE"); !own.empty()) return own + "/programs";
  if (const auto shared = environment("XDG_CACHE_HOME"); !shared.empty()) return shared + "/esper/programs";
  if (const auto home = environment("HOME"); !home.empty()) return home + "/.cache/esper/programs";
  return {};
}

// Who may put something else in the place of what this folder holds, or of the folder itself; empty: nobody but this
// user and root.
std::string who_may_change(const std::string& path, const struct stat& status, bool is_parent) {
  // In a sticky folder only its owner and an entry's own owner rename or remove the entry.
  const bool sticky = is_parent && (status.st_mode & S_ISVTX) != 0;
  if ((status.st_mode & S_IWOTH) != 0 && !sticky) return "others may write to " + path;
  // Many systems give each user a group of his own, and let it write.
  const bool own_group = is_parent && status.st_gid == ::getegid();
  if ((status.st_mode & S_IWGRP) != 0 && !sticky && !own_group) return "a group may write to " + path;
  if (status.st_uid == ::geteuid() || (is_parent && status.st_uid == 0)) return {};
  return path + " belongs to another user";
}

std::string problem_of(const std::string& folder) {
  struct stat status {};
  std::error_code error;
  // Links on the way are followed first: what counts are the folders that are really passed.
  auto path = std::filesystem::canonical(folder, error);
  if (error) return "cannot reach " + folder + ": " + error.message();
  for (bool is_parent = false;; is_parent = true) {
    if (::stat(path.c_str(), &status) < 0) return "cannot look at " + path.string();
    if (!S_ISDIR(status.st_mode)) return path.string() + " is no folder";
    if (auto problem = who_may_change(path, status, is_parent); !problem.empty()) {
      return problem + (is_parent ? ", in which the cache of compiled programs lies" : "");
    }
    if (path == path.root_path()) return {};
    path = path.parent_path();
  }
}

}  // namespace

storage::Checked<std::string> private_cache_folder(const std::string& configured) {
  using storage::damaged;
  const std::string wanted = wanted_folder(configured);
  if (wanted.empty())
    return damaged<std::string>("there is no HOME to keep compiled programs in" + std::string(kWayOut));
  std::error_code error;
  const std::string folder = std::filesystem::absolute(wanted, error).lexically_normal().string();
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), error);
  if (::mkdir(folder.c_str(), 0700) < 0 && errno != EEXIST) {
    return damaged<std::string>("cannot make " + folder + ": " + std::generic_category().message(errno) + kWayOut);
  }
  if (auto problem = problem_of(folder); !problem.empty()) return damaged<std::string>(problem + kWayOut);
  return storage::sound(folder);
}

}  // namespace esper::program
