#include "program/compile/wake_pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/file_system.h"

namespace esper::program {

WakePipe::WakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) throw base::IoError("make", "a pipe", errno);
  read_ = base::Descriptor(ends[0]);
  write_ = base::Descriptor(ends[1]);
}

void WakePipe::wake() {
  const char byte = 1;
  // A full pipe wakes as well.
  [[maybe_unused]] const auto ignored = ::write(write_.number(), &byte, 1);
}

void WakePipe::drain() {
  char bytes[64];
  while (::read(read_.number(), bytes, sizeof bytes) > 0) {
  }
}

bool interruptible_sleep(base::Duration length, const Interrupt& interrupt) {
  constexpr std::int64_t kLongestPollMs = 60'000;
  const base::Clock clock;
  const auto deadline = clock.now() + length;
  while (!interrupt.wanted()) {
    const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.now()).count();
    if (left_ms <= 0) return true;
    pollfd ready{interrupt.wake, POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(left_ms, kLongestPollMs)));
  }
  return false;
}

}  // namespace esper::program
