#include "jobs/daemon/state_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "base/file_system.h"
#include "jobs/daemon/daemon.h"

namespace esper::jobs {
namespace {

std::string lock_path(const std::string& state_dir) { return state_dir + "/lock"; }

std::string holder_of(const base::Descriptor& lock) {
  std::array<char, 64> text{};
  const auto got = ::pread(lock.number(), text.data(), text.size(), 0);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

// A daemon that was killed, and a child that it was about to start, hold the lock for a moment more.
constexpr std::chrono::seconds kLockWait(1);

bool lock_within(int file, std::chrono::milliseconds wait) {
  const auto deadline = std::chrono::steady_clock::now() + wait;
  while (::flock(file, LOCK_EX | LOCK_NB) < 0) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

bool has_no_socket(const std::string& state_dir) {
  struct stat found{};
  return ::lstat(socket_of(state_dir).c_str(), &found) < 0 && errno == ENOENT;
}

std::string missing_socket_text(const std::string& state_dir, const std::string& holder) {
  return fmt::format(
      "its socket {} does not exist: it is starting or ending, or the file was deleted; a restart brings the file "
      "back: kill {}, then esper daemon --state-dir {} (running jobs continue)",
      socket_of(state_dir), holder, state_dir);
}

}  // namespace

base::Descriptor lock_state(const std::string& state_dir) {
  const std::string path = lock_path(state_dir);
  base::Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.is_open()) throw base::IoError("open", path, errno);
  if (!lock_within(lock.number(), kLockWait)) {
    const std::string holder = holder_of(lock);
    std::string reason = fmt::format("a daemon of {} is running already: process {}", state_dir, holder);
    if (has_no_socket(state_dir)) reason += "; " + missing_socket_text(state_dir, holder);
    throw base::Error(base::ExitCode::kTryAgain, reason);
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(lock.number(), 0) < 0 || ::pwrite(lock.number(), pid.data(), pid.size(), 0) < 0)
    throw base::IoError("write", path, errno);
  return lock;
}

std::optional<std::string> lost_socket(const std::string& state_dir) {
  if (!has_no_socket(state_dir)) return std::nullopt;
  const base::Descriptor lock(::open(lock_path(state_dir).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!lock.is_open() || ::flock(lock.number(), LOCK_SH | LOCK_NB) == 0) return std::nullopt;
  if (errno != EWOULDBLOCK) return std::nullopt;
  const std::string holder = holder_of(lock);
  return fmt::format("the daemon of {}, process {}, cannot be reached: {}", state_dir, holder,
                     missing_socket_text(state_dir, holder));
}

}  // namespace esper::jobs
