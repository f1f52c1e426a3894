#include "program/cache/compile_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leyline/file_system.h"

namespace esper::program {
namespace {

using leyline::Descriptor;
using leyline::IoError;

constexpr char kFolder[] = "compiling";
constexpr off_t kRanks = static_cast<off_t>(CompileRank::kFull) + 1;

struct flock bytes(short type, off_t begin, off_t end) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = begin;
  range.l_len = end - begin;
  return range;
}

// False where another description has one of these bytes.
bool lock_bytes(int file, off_t begin, off_t end, const std::string& path) {
  auto range = bytes(F_WRLCK, begin, end);
  if (::fcntl(file, F_OFD_SETLK, &range) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  throw IoError("lock", path, errno);
}

bool are_free(int file, off_t begin, off_t end, const std::string& path) {
  if (begin == end) return true;
  auto range = bytes(F_WRLCK, begin, end);
  if (::fcntl(file, F_OFD_GETLK, &range) < 0) throw IoError("look at the lock of", path, errno);
  return range.l_type == F_UNLCK;
}

Descriptor lock_folder(const std::string& cache) {
  const Descriptor top(::open(cache.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top.is_open()) throw IoError("open folder", cache, errno);
  const std::string path = cache + "/" + kFolder;
  if (::mkdirat(top.number(), kFolder, 0700) < 0 && errno != EEXIST) throw IoError("make folder", path, errno);
  Descriptor folder(::openat(top.number(), kFolder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open()) throw IoError("open folder", path, errno);
  return folder;
}

// Whoever had it may have removed the file between its opening and its locking.
bool is_there(int file, const std::string& path) {
  struct stat status {};
  if (::fstat(file, &status) < 0) throw IoError("look at", path, errno);
  if (!S_ISREG(status.st_mode)) throw IoError("lock", path, EINVAL);
  return status.st_nlink > 0;
}

}  // namespace

std::optional<CompileLock> CompileLock::try_take(const std::string& folder, const std::string& key, CompileRank rank) {
  auto locks = lock_folder(folder);
  const std::string path = folder + "/" + kFolder + "/" + key;
  Descriptor file(::openat(locks.number(), key.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.is_open()) throw IoError("open", path, errno);
  const auto own = static_cast<off_t>(rank);
  if (!lock_bytes(file.number(), own, own + 1, path) || !is_there(file.number(), path)) return std::nullopt;
  if (!are_free(file.number(), own + 1, kRanks, path)) return std::nullopt;
  return CompileLock(std::move(locks), std::move(file), key);
}

// The last one removes the file: who has all its bytes knows that nobody else has one.
CompileLock::~CompileLock() {
  if (!file_.is_open()) return;
  auto all = bytes(F_WRLCK, 0, kRanks);
  if (::fcntl(file_.number(), F_OFD_SETLK, &all) == 0) ::unlinkat(folder_.number(), key_.c_str(), 0);
}

}  // namespace esper::program
