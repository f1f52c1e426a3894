#include "program/compile/loading_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "base/file_system.h"

namespace esper::program {
namespace {

namespace fs = std::filesystem;
using base::Descriptor;
using base::IoError;

constexpr char kPrefix[] = "esper-loading-";

Descriptor opened(const std::string& folder) {
  return Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Nothing if it is locked elsewhere, or is not a folder of this user.
Descriptor locked(const std::string& folder) {
  auto hold = opened(folder);
  struct stat status{};
  if (!hold.is_open() || ::fstat(hold.number(), &status) < 0 || status.st_uid != ::geteuid()) return Descriptor();
  return ::flock(hold.number(), LOCK_EX | LOCK_NB) == 0 ? std::move(hold) : Descriptor();
}

}  // namespace

int sweep_unlocked(const std::string& parent, const std::string& prefix) {
  int swept = 0;
  std::error_code problem;
  const auto alone = opened(parent);
  if (!alone.is_open() || ::flock(alone.number(), LOCK_EX | LOCK_NB) != 0) return 0;
  for (const auto& entry : fs::directory_iterator(parent, problem)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    if (const auto hold = locked(entry.path()); hold.is_open()) {
      std::error_code ignored;
      fs::remove_all(entry.path(), ignored);
      ++swept;
    }
  }
  return swept;
}

int sweep_loading_folders() {
  std::error_code problem;
  const auto temporary = fs::temp_directory_path(problem);
  return problem ? 0 : sweep_unlocked(temporary, kPrefix);
}

LoadingFolder::LoadingFolder() {
  static const int swept = sweep_loading_folders();
  static_cast<void>(swept);
  std::error_code problem;
  const fs::path temporary = fs::temp_directory_path(problem);
  if (problem) throw IoError("find", "the temporary folder (TMPDIR)", problem.value());
  // A process that sweeps may take the folder away before it is locked: then another is made.
  constexpr int kTries = 10;
  for (int i = 0; i < kTries && !in_use_.is_open(); ++i) {
    std::string made = (temporary / kPrefix).string() + "XXXXXX";
    if (::mkdtemp(made.data()) == nullptr) throw IoError("make", made, errno);
    in_use_ = locked(made);
    if (in_use_.is_open() && !fs::exists(made)) in_use_.reset();
    path_ = made;
  }
  if (!in_use_.is_open()) throw IoError("lock", path_, EBUSY);
}

std::string LoadingFolder::put(const std::string& name, std::string_view contents) const {
  const std::string path = path_ + "/" + name;
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) throw IoError("make", path, errno);
  while (!contents.empty()) {
    const auto written = ::write(file.number(), contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw IoError("write", path, written < 0 ? errno : EIO);
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
  return path;
}

void LoadingFolder::remove() {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  path_.clear();
  in_use_.reset();
}

}  // namespace esper::program
