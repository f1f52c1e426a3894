#include "base/text/line_channel.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <system_error>

#include "base/clock.h"
#include "base/text/child_process.h"

namespace esper::base {
namespace {

using std::chrono::milliseconds;

// For poll(): at least one, so that a rest of a millisecond is no busy loop; at most a minute.
int milliseconds_until(const Clock& clock, Duration deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - clock.now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

std::string words_for(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

}  // namespace

LineChannel::LineChannel(Descriptor& theirs) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot make a channel to a child process");
  }
  ours_ = Descriptor(ends[0]);
  theirs = Descriptor(ends[1]);
}

LineChannel::Send LineChannel::send(const std::string& line, Duration timeout) {
  const Clock clock;
  const auto deadline = clock.now() + timeout;
  const std::string text = line + "\n";
  for (std::string_view rest = text; !rest.empty();) {
    const auto sent = ::send(ours_.number(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK) return Send::kEnd;
    if (clock.now() >= deadline) return Send::kTimeout;
    pollfd room{ours_.number(), POLLOUT, 0};
    ::poll(&room, 1, milliseconds_until(clock, deadline));
  }
  return Send::kSent;
}

bool LineChannel::take_line(std::string& line) {
  const auto end = received_.find('\n', searched_);
  searched_ = received_.size();
  if (end == std::string::npos) return false;
  line = received_.substr(0, end);
  received_.erase(0, end + 1);
  searched_ = 0;
  return true;
}

LineChannel::Read LineChannel::read_line(std::string& line, Duration timeout, int wake) {
  const Clock clock;
  const auto deadline = clock.now() + timeout;
  char block[1 << 16];
  while (!take_line(line)) {
    if (received_.size() > kLongestLine) return Read::kEnd;
    if (clock.now() >= deadline) return Read::kTimeout;
    pollfd ready[] = {{ours_.number(), POLLIN, 0}, {wake, POLLIN, 0}};
    // Interrupted or not yet: what the deadline says about it is seen above.
    if (::poll(ready, 2, milliseconds_until(clock, deadline)) <= 0) continue;
    if (ready[0].revents != 0) {
      const auto got = ::recv(ours_.number(), block, sizeof block, MSG_DONTWAIT);
      if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) continue;
      if (got <= 0) return Read::kEnd;
      received_.append(block, static_cast<std::size_t>(got));
    } else if (ready[1].revents != 0) {
      return Read::kWoken;
    }
  }
  return Read::kLine;
}

std::string end_group(pid_t leader, Duration timeout) {
  ::kill(-leader, SIGKILL);
  const auto status = await_child(leader, timeout);
  return status ? words_for(*status) : "unknown";
}

}  // namespace esper::base
