#include "base/text/timed_write.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace esper::base {
namespace {

using SteadyClock = std::chrono::steady_clock;

// 0 when there may be room, else an errno.
int wait_for_room(int descriptor, SteadyClock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now()).count();
    pollfd entry{descriptor, POLLOUT, 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000)));
    if (ready > 0) return 0;
    if (ready < 0 && errno != EINTR) return errno;
    if (SteadyClock::now() >= until) return ETIMEDOUT;
  }
}

enum class Kind { kNeverWaits, kSocket, kMayWait };

Kind kind_of(int descriptor) {
  struct stat facts{};
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags == -1 || (flags & O_NONBLOCK) != 0 || fstat(descriptor, &facts) != 0) return Kind::kNeverWaits;
  if (S_ISSOCK(facts.st_mode)) return Kind::kSocket;
  return S_ISFIFO(facts.st_mode) || S_ISCHR(facts.st_mode) ? Kind::kMayWait : Kind::kNeverWaits;
}

// One write of the front of `bytes`; as write(2).
ssize_t write_front(int descriptor, std::string_view bytes, Kind kind) {
  if (kind == Kind::kSocket) return send(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  const std::size_t most = kind == Kind::kMayWait ? PIPE_BUF : bytes.size();
  return write(descriptor, bytes.data(), std::min(bytes.size(), most));
}

}  // namespace

WriteResult write_all(int descriptor, std::string_view bytes, Duration deadline) {
  const auto until = SteadyClock::now() + deadline;
  const Kind kind = kind_of(descriptor);
  WriteResult result;
  while (result.written < bytes.size()) {
    if (kind == Kind::kMayWait) {
      result.error = wait_for_room(descriptor, until);
      if (result.error != 0) return result;
    }
    const auto count = write_front(descriptor, bytes.substr(result.written), kind);
    if (count >= 0) {
      result.written += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      result.error = wait_for_room(descriptor, until);
      if (result.error != 0) return result;
    } else if (errno != EINTR) {
      result.error = errno;
      return result;
    }
  }
  return result;
}

}  // namespace esper::base
