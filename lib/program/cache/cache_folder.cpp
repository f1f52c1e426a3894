#include "program/cache/cache_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "storage/beneath.h"

namespace esper::program {
namespace {

constexpr char kOtherCache[] = "; set another folder with --cache-dir or ESPER_CACHE";

std::string variable_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

base::Expected<std::string> wanted_folder(const std::string& named) {
  if (!named.empty()) return named;
  if (const auto own = variable_of("ESPER_CACHE"); !own.empty()) {
    if (own.starts_with('/')) return own + "/programs";
    return base::failure("ESPER_CACHE is not an absolute path: " + own);
  }
  const auto folder = esper_folder("XDG_CACHE_HOME", "/.cache");
  if (folder.empty()) return base::failure("HOME is not set, so there is no folder for compiled programs");
  return folder + "/programs";
}

// That nobody but this user and root may put something else in the place of what this folder holds, or of the folder
// itself.
base::Expected<void> check_closed(const std::string& path, const struct stat& status, bool is_parent) {
  // In a sticky folder only its owner and an entry's own owner rename or remove the entry.
  const bool sticky = is_parent && (status.st_mode & S_ISVTX) != 0;
  if ((status.st_mode & S_IWOTH) != 0 && !sticky) return base::failure("others can write to " + path);
  // Many systems give each user a group of his own, and let it write.
  const bool own_group = is_parent && status.st_gid == ::getegid();
  if ((status.st_mode & S_IWGRP) != 0 && !sticky && !own_group) return base::failure("a group can write to " + path);
  if (status.st_uid == ::geteuid() || (is_parent && status.st_uid == 0)) return {};
  return base::failure(path + " belongs to another user");
}

base::Expected<void> check_closed_to_root(const std::filesystem::path& folder) {
  struct stat status{};
  auto path = folder;
  for (bool is_parent = false;; is_parent = true) {
    if (::stat(path.c_str(), &status) < 0) return base::failure("cannot stat " + path.string());
    if (!S_ISDIR(status.st_mode)) return base::failure(path.string() + " is not a folder");
    if (const auto closed = check_closed(path, status, is_parent); !closed) {
      return base::failure(closed.error() + (is_parent ? ", in which " + folder.string() + " lies" : ""));
    }
    if (path == path.root_path()) return {};
    path = path.parent_path();
  }
}

// errno of the first that cannot be made; 0 where all are there.
int make_folders(const std::filesystem::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0 || path == path.root_path()) return 0;
  if (const int error = make_folders(path.parent_path()); error != 0) return error;
  if (::mkdir(path.c_str(), 0700) < 0) return errno == EEXIST ? 0 : errno;
  return ::chmod(path.c_str(), 0700) < 0 ? errno : 0;  // the umask may have taken the user's own rights
}

// A folder that another process removes meanwhile is no problem, nor is one that cannot be read: whoever needs it says
// so.
void check_folders_in(base::FileSystem& files, const std::string& folder) {
  try {
    for (const auto& entry : files.list(folder)) {
      const std::string path = folder + "/" + entry.name;
      std::error_code ignored;
      // Also a link to one, which list() then refuses.
      if (!std::filesystem::is_directory(path, ignored)) continue;
      // What lies in a job's folder is of one compilation, and swept away.
      entry.name == "jobs" ? void(files.list(path)) : check_folders_in(files, path);
    }
  } catch (const storage::UnsafePath&) {
    throw;
  } catch (const base::IoError&) {
  }
}

}  // namespace

std::string esper_folder(const char* variable, const std::string& in_home) {
  if (const auto named = variable_of(variable); named.starts_with('/')) return named + "/esper";
  const auto home = variable_of("HOME");
  return home.starts_with('/') ? home + in_home + "/esper" : "";
}

base::Expected<std::string> private_folder(const std::string& wanted) {
  std::error_code error;
  const auto path = std::filesystem::absolute(wanted, error).lexically_normal();
  if (const int failure = make_folders(path); failure != 0) {
    return base::failure("cannot make " + path.string() + ": " + std::generic_category().message(failure));
  }
  // Links on the way are followed here and not again: what counts are the folders that are really passed.
  const auto folder = std::filesystem::canonical(path, error);
  if (error) return base::failure("cannot reach " + path.string() + ": " + error.message());
  if (const auto closed = check_closed_to_root(folder); !closed) return base::failure(closed.error());
  return folder.string();
}

base::Expected<std::string> private_cache_folder(const std::string& named) {
  auto folder = wanted_folder(named);
  if (folder) folder = private_folder(*folder);
  if (!folder) return base::failure(folder.error() + kOtherCache);
  return folder;
}

base::Expected<void> check_below(base::FileSystem& files, const std::string& cache) {
  try {
    // Of package_cache.h, compile_lock.h and the compile worker.
    for (const char* name : {"entries", "used", "choices", "quarantine", "compiling", "worker"}) {
      const std::string path = cache + "/" + name;
      if (files.kind_of(path) == base::PathKind::kFile) return base::failure(path + " is not a folder" + kOtherCache);
    }
    // What it keeps lies some levels down, by version and kind.
    check_folders_in(files, cache + "/worker");
  } catch (const storage::UnsafePath& error) {
    return base::failure(error.what());
  } catch (const base::IoError&) {  // not refused: whoever needs the folder says so
  }
  return {};
}

}  // namespace esper::program
