#include "program/loading_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "leyline/file_system.h"

namespace esper::program {
namespace {

namespace fs = std::filesystem;
using leyline::Descriptor;
using leyline::IoError;

constexpr char kPrefix[] = "esper-loading-";

Descriptor opened(const std::string& folder) {
  return Descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Nothing if somebody else has it, or it is no folder of this user.
Descriptor locked(const std::string& folder) {
  auto hold = opened(folder);
  struct stat status {};
  if (hold.get() < 0 || ::fstat(hold.get(), &status) < 0 || status.st_uid != ::geteuid()) return Descriptor();
  return ::flock(hold.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(hold) : Descriptor();
}

}  // namespace

int sweep_loading_folders() {
  int swept = 0;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(fs::temp_directory_path(problem), problem)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    if (const auto hold = locked(entry.path()); hold.get() >= 0) {
      std::error_code ignored;
      fs::remove_all(entry.path(), ignored);
      ++swept;
    }
  }
  return swept;
}

LoadingFolder::LoadingFolder() {
  static const int swept = sweep_loading_folders();
  static_cast<void>(swept);
  // A process that sweeps may take the folder away before it is locked: then another is made.
  constexpr int kTries = 10;
  for (int i = 0; i < kTries && in_use_.get() < 0; ++i) {
    std::string made = (fs::temp_directory_path() / kPrefix).string() + "XXXXXX";
    if (::mkdtemp(made.data()) == nullptr) throw IoError("make", made, errno);
    in_use_ = locked(made);
    if (in_use_.get() >= 0 && !fs::exists(made)) in_use_.reset();
    path_ = made;
  }
  if (in_use_.get() < 0) throw IoError("lock", path_, EBUSY);
}

std::string LoadingFolder::put(const std::string& name, std::string_view contents) const {
  const std::string path = path_ + "/" + name;
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) throw IoError("make", path, errno);
  while (!contents.empty()) {
    const auto written = ::write(file.get(), contents.data(), contents.size());
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
