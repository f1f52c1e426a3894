#include "program/cache/compile_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_system.h"
#include "storage/beneath.h"

namespace esper::program {
namespace {

using base::Descriptor;
using base::IoError;

constexpr char kFolder[] = "compiling";
constexpr off_t kRanks = static_cast<off_t>(CompileRank::kFull) + 1;

struct flock bytes(short type, off_t begin, off_t end) {
  struct flock range{};
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
  if (::fcntl(file, F_OFD_GETLK, &range) < 0) throw IoError("stat the lock of", path, errno);
  return range.l_type == F_UNLCK;
}

void make_lock_folder(const storage::Beneath& cache) {
  try {
    cache.make_folder(cache.root() + "/" + kFolder);
  } catch (const IoError& error) {
    if (error.error_number() != EEXIST) throw;
  }
}

// Whoever had it may have removed the file between its opening and its locking.
bool is_there(int file, const std::string& path) {
  struct stat status{};
  if (::fstat(file, &status) < 0) throw IoError("stat", path, errno);
  return status.st_nlink > 0;
}

}  // namespace

std::optional<CompileLock> CompileLock::try_take(const std::string& folder, const std::string& key, CompileRank rank) {
  const storage::Beneath cache(folder, storage::Owner::kThisUser);
  make_lock_folder(cache);
  const std::string path = cache.root() + "/" + kFolder + "/" + key;
  Descriptor file = cache.open_file(path, O_RDWR | O_CREAT);
  const auto own = static_cast<off_t>(rank);
  if (!lock_bytes(file.number(), own, own + 1, path) || !is_there(file.number(), path)) return std::nullopt;
  if (!are_free(file.number(), own + 1, kRanks, path)) return std::nullopt;
  return CompileLock(cache.place_of(path).folder, std::move(file), key);
}

// The last one removes the file: who has all its bytes knows that nobody else has one.
CompileLock::~CompileLock() {
  if (!file_.is_open()) return;
  auto all = bytes(F_WRLCK, 0, kRanks);
  if (::fcntl(file_.number(), F_OFD_SETLK, &all) == 0) ::unlinkat(folder_.number(), key_.c_str(), 0);
}

}  // namespace esper::program
