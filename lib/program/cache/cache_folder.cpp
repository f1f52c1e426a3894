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
  struct stat status;
  if (::stat(folder.c_str(), &status) < 0 || !S_ISDIR(status.st_mode)) {
    return damaged<std::string>(folder + " is no folder" + kWayOut);
  }
  if (status.st_uid != ::geteuid()) return damaged<std::string>(folder + " belongs to another user" + kWayOut);
  // One that an older umask left open to reading is closed; one that others could write to may hold their code.
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return damaged<std::string>("others may write to " + folder + "; remove it, or" + std::string(kWayOut).substr(1));
  }
  if ((status.st_mode & 077) != 0 && ::chmod(folder.c_str(), 0700) < 0) {
    return damaged<std::string>("cannot close " + folder + " to others" + kWayOut);
  }
  return storage::sound(folder);
}

}  // namespace esper::program
