#include "base/text/child_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "base/clock.h"
#include "base/descriptor.h"

extern char** environ;

namespace esper::base {
namespace {

constexpr int kFirstFree = 10;     // above the child's own numbers
constexpr int kCannotStart = 127;  // as shells have it
constexpr Duration kLongestEnd = std::chrono::seconds(5);

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

// All that the child needs between fork and exec, where it may neither allocate nor lock.
struct Start {
  std::vector<char*> arguments, environment;
  std::vector<ChildFile> files;
  const char* folder = nullptr;
  ChildLifetime lifetime{};
  pid_t parent = -1;
  int problem = -1;  // takes errno; closed by exec
};

[[noreturn]] void give_up(const Start& start) {
  const int error = errno;
  [[maybe_unused]] const auto ignored = ::write(start.problem, &error, sizeof error);
  ::_exit(kCannotStart);
}

[[noreturn]] void become(const Start& start) {
  if (start.lifetime == ChildLifetime::kOwn) {
    ::setsid();
  } else {
    ::prctl(PR_SET_PDEATHSIG, start.lifetime == ChildLifetime::kStoppedWithParent ? SIGTERM : SIGKILL);
    if (::getppid() != start.parent) ::_exit(kCannotStart);  // it ended before it could be asked to take us along
    ::setpgid(0, 0);
  }
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Libraries open files without O_CLOEXEC. A kernel older than 5.11 leaves these to the child.
  ::syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, CLOSE_RANGE_CLOEXEC);
  for (const auto& [number, ours] : start.files) {
    if (::dup2(ours, number) < 0) give_up(start);
  }
  if (start.folder != nullptr && ::chdir(start.folder) < 0) give_up(start);
  ::execvpe(start.arguments[0], start.arguments.data(), start.environment.data());
  give_up(start);
}

// Signals that come before the child is another program must not run this process's handlers there.
pid_t fork_child(const Start& start) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::fork();
  if (child == 0) become(start);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return child;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Out of the way of the numbers that the child's files get.
Descriptor moved_up(int number) {
  Descriptor moved(::fcntl(number, F_DUPFD_CLOEXEC, kFirstFree));
  if (!moved.is_open()) fail(errno, "cannot copy a descriptor for a child process");
  return moved;
}

// errno of the child that could not become the program, ETIMEDOUT where it has not within `timeout`; 0 where it could.
int problem_of(int pipe, Duration timeout) {
  const Clock clock;
  const auto deadline = clock.now() + timeout;
  while (true) {
    const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.now()).count();
    if (left_ms <= 0) return ETIMEDOUT;
    pollfd report{pipe, POLLIN, 0};
    if (::poll(&report, 1, static_cast<int>(std::min<std::int64_t>(left_ms, 60'000))) <= 0) continue;
    int error = 0;
    const auto got = ::read(pipe, &error, sizeof error);
    if (got < 0 && errno == EINTR) continue;
    return got == sizeof error ? error : 0;
  }
}

constexpr auto kPause = std::chrono::milliseconds(1);

// Of the process behind the handle. Without one, as on a kernel older than 5.3, for a moment. Returns whether it ended.
bool sleep_until_end(const Descriptor& handle, std::int64_t most_ms) {
  pollfd end{handle.number(), POLLIN, 0};  // poll() ignores -1
  const auto most = std::min<std::int64_t>(most_ms, handle.is_open() ? 60'000 : kPause.count());
  return ::poll(&end, 1, static_cast<int>(most)) > 0;
}

}  // namespace

pid_t start_child(const ChildPlan& plan) {
  const std::string what =
      fmt::format("cannot start {}{}{}", plan.command.empty() ? "no program" : plan.command.front(),
                  plan.folder.empty() ? "" : " in ", plan.folder);
  if (plan.command.empty() || plan.command.front().empty()) fail(EINVAL, what);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) fail(errno, "cannot make a pipe to a child process");
  const Descriptor problem(ends[0]);
  Descriptor theirs(ends[1]);
  Descriptor report = moved_up(theirs.number());
  theirs.reset();
  std::vector<Descriptor> copies;
  Start start{.arguments = pointers_to(plan.command),
              .environment = {},
              .files = {},
              .folder = plan.folder.empty() ? nullptr : plan.folder.c_str(),
              .lifetime = plan.lifetime,
              .parent = ::getpid(),
              .problem = report.number()};
  if (plan.environment) {
    start.environment = pointers_to(*plan.environment);
  } else {
    for (char** entry = environ; *entry != nullptr; ++entry) start.environment.push_back(*entry);
    start.environment.push_back(nullptr);
  }
  for (const auto& [number, ours] : plan.files) {
    copies.push_back(moved_up(ours));
    start.files.push_back({number, copies.back().number()});
  }
  const pid_t child = fork_child(start);
  if (child < 0) fail(errno, what);
  report.reset();
  const int error = problem_of(problem.number(), plan.start_deadline);
  if (error == 0) return child;
  ::kill(child, SIGKILL);
  await_child(child, kLongestEnd);
  fail(error, what);
}

std::optional<int> await_child(pid_t child, Duration timeout) {
  ends_within(child, timeout);
  int status = 0;
  return ::waitpid(child, &status, WNOHANG) == child ? std::optional(status) : std::nullopt;
}

bool ends_within(pid_t child, Duration timeout) {
  const Clock clock;
  const auto deadline = clock.now() + timeout;
  const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  for (bool has_ended = false;;) {
    siginfo_t end{};
    const int seen = ::waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOHANG | WNOWAIT);
    if (seen == 0 && end.si_pid == child) return true;
    const auto left_ms = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.now()).count();
    if ((seen < 0 && errno != EINTR) || left_ms <= 0) return false;
    if (has_ended) clock.sleep(kPause);  // a process that traces it has not been notified yet
    has_ended = sleep_until_end(handle, left_ms);
  }
}

}  // namespace esper::base
