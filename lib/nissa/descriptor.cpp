#include "nissa/descriptor.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace esper::nissa {
namespace {

using Clock = std::chrono::steady_clock;

// 0 when there may be room, else an errno.
int wait_for_room(int descriptor, Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return ETIMEDOUT;
    pollfd entry{descriptor, POLLOUT, 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::min<long>(left, 60'000)));
    if (ready > 0) return 0;
    if (ready < 0 && errno != EINTR) return errno;
  }
}

}  // namespace

WriteResult write_all(int descriptor, std::string_view bytes, leyline::Duration deadline) {
  const auto until = Clock::now() + deadline;
  WriteResult result;
  while (result.written < bytes.size()) {
    const auto count = write(descriptor, bytes.data() + result.written, bytes.size() - result.written);
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

}  // namespace esper::nissa
