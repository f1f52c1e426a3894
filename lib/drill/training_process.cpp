#include "drill/training_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <thread>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/text/child_process.h"
#include "base/text/line_channel.h"
#include "drill/stop.h"

extern char** environ;

namespace esper::drill {
namespace {

using base::Error;
using base::ExitCode;

constexpr auto kLookAgain = std::chrono::milliseconds(2);
constexpr auto kLongestKill = std::chrono::seconds(10);

std::vector<std::string> environment_with(const std::vector<std::string>& additions) {
  std::vector<std::string> all = additions;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string own = *entry;
    const auto name = own.substr(0, own.find('=') + 1);
    if (std::ranges::none_of(additions, [&](const auto& added) { return added.starts_with(name); })) all.push_back(own);
  }
  return all;
}

base::Descriptor opened(const std::string& path, int flags) {
  base::Descriptor file(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  if (!file.is_open())
    throw Error(ExitCode::kResources, fmt::format("{}: {}", path, std::generic_category().message(errno)));
  return file;
}

}  // namespace

std::string text_of(const ProcessEnd& end) {
  return end.signal != 0 ? fmt::format("signal {}", end.signal) : fmt::format("exit status {}", end.exit_code);
}

TrainingProcess::TrainingProcess(const std::vector<std::string>& command, const std::string& output,
                                 const std::vector<std::string>& environment) {
  const auto nothing = opened("/dev/null", O_RDWR);
  const auto log = opened(output, O_WRONLY | O_CREAT | O_APPEND);
  try {
    process_ = base::start_child(
        {.command = command,
         .files = {{STDIN_FILENO, nothing.number()}, {STDOUT_FILENO, log.number()}, {STDERR_FILENO, log.number()}},
         .environment = environment_with(environment)});
  } catch (const std::system_error& error) {
    throw Error(ExitCode::kResources, error.what());
  }
}

TrainingProcess::~TrainingProcess() {
  if (process_ >= 0) base::end_group(process_, kLongestKill);
}

std::optional<ProcessEnd> TrainingProcess::wait_until(Clock::time_point deadline) {
  while (process_ >= 0) {
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) == process_) {
      ::kill(-process_, SIGKILL);  // what it started and did not end
      process_ = -1;
      end_ = WIFSIGNALED(status) ? ProcessEnd{0, WTERMSIG(status)} : ProcessEnd{WEXITSTATUS(status), 0};
      break;
    }
    Stop::check();
    if (Clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_until(std::min(deadline, Clock::now() + kLookAgain));
  }
  return end_;
}

void TrainingProcess::send(int signal) const {
  if (process_ >= 0) ::kill(process_, signal);
}

}  // namespace esper::drill
