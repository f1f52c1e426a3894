#include "jobs/process/log_files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/descriptor.h"

namespace esper::jobs {
namespace {

std::string earlier_log(const std::string& path, int number) { return fmt::format("{}.{}", path, number); }

std::string log_failure(const std::string& path) {
  return fmt::format("cannot start a new {}: {}", path, std::generic_category().message(errno));
}

bool is_same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

}  // namespace

base::Expected<bool> rotate_log(const std::string& path, std::int64_t max_bytes) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) < 0)
    return errno == ENOENT ? base::Expected(false) : base::failure(log_failure(path));
  if (!S_ISREG(facts.st_mode) || facts.st_size < max_bytes) return false;
  // From the oldest on: wherever this ends early, no file is lost but the oldest.
  for (int number = kEarlierLogs; number > 0; --number) {
    const std::string from = number == 1 ? path : earlier_log(path, number - 1);
    if (::rename(from.c_str(), earlier_log(path, number).c_str()) < 0 && errno != ENOENT)
      return base::failure(log_failure(path));
  }
  return true;
}

base::Expected<bool> rotate_own_log(const std::string& path, std::int64_t max_bytes) {
  struct stat error{}, output{}, file{};
  if (::fstat(STDERR_FILENO, &error) < 0 || !S_ISREG(error.st_mode) || error.st_size < max_bytes) return false;
  if (::lstat(path.c_str(), &file) < 0 || !is_same_file(error, file)) return false;
  const bool has_output = ::fstat(STDOUT_FILENO, &output) == 0 && is_same_file(output, file);
  const auto rotated = rotate_log(path, max_bytes);
  if (!rotated || !*rotated) return rotated;
  const base::Descriptor next(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!next.is_open() || ::dup2(next.number(), STDERR_FILENO) < 0) return base::failure(log_failure(path));
  if (has_output && ::dup2(next.number(), STDOUT_FILENO) < 0) return base::failure(log_failure(path));
  return true;
}

}  // namespace esper::jobs
