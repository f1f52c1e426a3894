#include "esper/bench_daemon/timed_command.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/text/child_process.h"
#include "base/text/line_channel.h"

extern char** environ;

namespace esper {

namespace {

constexpr auto kKillTime = std::chrono::seconds(5);

// What a machine that has too much to do is out of, and has again later.
bool may_pass(const std::error_code& code) {
  return code == std::errc::timed_out || code == std::errc::resource_unavailable_try_again ||
         code == std::errc::not_enough_memory;
}

int end_of(pid_t child, const std::string& program, base::Duration end_time) {
  if (const auto status = base::await_child(child, end_time)) return *status;
  base::end_group(child, kKillTime);
  throw std::system_error(ETIMEDOUT, std::generic_category(), program + " has closed its output and does not exit");
}

}  // namespace

TimedCommand time_command(const CommandWords& words, const std::vector<std::string>& environment,
                          base::Duration end_time) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  const base::Descriptor reading(ends[0]), nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  base::Descriptor writing(ends[1]);
  base::ChildPlan plan{
      .command = words,
      .files = {
          {STDIN_FILENO, nothing.number()}, {STDOUT_FILENO, writing.number()}, {STDERR_FILENO, nothing.number()}}};
  if (!environment.empty()) plan.environment = environment;
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = base::start_child(plan);
  writing.reset();
  TimedCommand timed;
  std::array<char, 65536> bytes;
  ssize_t got = 0;
  while ((got = ::read(reading.number(), bytes.data(), bytes.size())) > 0 || (got < 0 && errno == EINTR))
    timed.output.append(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const int status = end_of(child, words.front(), end_time);
  timed.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  timed.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return timed;
}

TimedCommand time_needed_command(const CommandWords& words, const std::vector<std::string>& environment,
                                 base::Duration end_time) {
  try {
    return time_command(words, environment, end_time);
  } catch (const std::system_error& error) {
    const std::string advice =
        may_pass(error.code()) ? ": try again, when this machine has less to do" : ": it needs " + words.front();
    throw base::Error(base::ExitCode::kResources, std::string(error.what()) + "; the measurement ends" + advice);
  }
}

std::vector<std::string> environment_with(const std::vector<std::string>& more) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  environment.insert(environment.end(), more.begin(), more.end());
  return environment;
}

}  // namespace esper
