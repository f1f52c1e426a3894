#include "esper/queue/daemon_start.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/text/child_process.h"
#include "base/text/printable.h"
#include "base/text/text_outlet.h"
#include "esper/own_program.h"
#include "http/unix_address.h"
#include "jobs/daemon/daemon.h"
#include "jobs/daemon/state_folder.h"

namespace esper {
namespace {

using base::Error;
using base::ExitCode;

constexpr int kStartTimeMs = 20000;
constexpr auto kOthersStartTime = std::chrono::seconds(10);
constexpr auto kAskAgain = std::chrono::milliseconds(50);
constexpr auto kEndTime = std::chrono::seconds(1);
constexpr std::size_t kMostWords = 4000;
constexpr int kReadyFile = 5;

std::string log_of(const std::string& state_dir) { return state_dir + "/daemon.log"; }

struct ReadyPipe {
  base::Descriptor read, write;
};

ReadyPipe ready_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  return {base::Descriptor(ends[0]), base::Descriptor(ends[1])};
}

// Whether the daemon reported that it listens, before it ended and before the time was over.
bool is_ready(int pipe) {
  pollfd waiting{pipe, POLLIN, 0};
  if (::poll(&waiting, 1, kStartTimeMs) != 1) return false;
  std::array<char, 16> said{};
  return ::read(pipe, said.data(), said.size()) > 0;
}

off_t size_of(const base::Descriptor& file) {
  struct stat found{};
  return ::fstat(file.number(), &found) == 0 ? found.st_size : 0;
}

// The last lines that were written to the file beyond `begin`.
std::string words_from(const base::Descriptor& file, off_t begin) {
  std::array<char, kMostWords> bytes{};
  const off_t from = std::max(begin, size_of(file) - static_cast<off_t>(bytes.size()));
  const auto got = ::pread(file.number(), bytes.data(), bytes.size(), from);
  std::string words(bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  words.erase(words.find_last_not_of("\n ") + 1);
  return words;
}

bool is_try_again(int status) {
  return WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(ExitCode::kTryAgain);
}

// The daemon's own, where it is one that errors have.
ExitCode exit_code_in(int status) {
  if (!WIFEXITED(status) || WEXITSTATUS(status) == 0) return ExitCode::kResources;
  for (const auto& [code, name] : names(ExitCode{})) {
    if (static_cast<int>(code) == WEXITSTATUS(status)) return code;
  }
  return ExitCode::kResources;
}

Error not_started(const std::string& state_dir, int status, const std::string& words) {
  const std::string how = WIFEXITED(status) ? fmt::format("exit status {}", WEXITSTATUS(status))
                                            : fmt::format("signal {}", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
  return {exit_code_in(status), fmt::format("the daemon did not start ({}){}{}\nits log: {}", how,
                                            words.empty() ? "" : ":\n", words, log_of(state_dir))};
}

struct StartedDaemon {
  bool is_ready = false;
  std::optional<Error> reason{};  // where it has ended
};

// Not ready: it did not listen in time, or has ended since another command started one at the same moment. Throws its
// own reason where it ended for another one.
StartedDaemon start_daemon(const std::string& state_dir) {
  jobs::make_state_folder(state_dir);
  const std::string log_path = log_of(state_dir);
  const base::Descriptor log(::open(log_path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  const base::Descriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!log.is_open()) throw Error(ExitCode::kResources, "cannot write " + log_path);
  ReadyPipe ready = ready_pipe();
  const off_t log_begin = size_of(log);
  const pid_t child = base::start_child(
      {.command = {own_program(), "daemon", "--state-dir", state_dir, "--ready-file", std::to_string(kReadyFile)},
       .files = {{STDIN_FILENO, nothing.number()},
                 {STDOUT_FILENO, log.number()},
                 {STDERR_FILENO, log.number()},
                 {kReadyFile, ready.write.number()}},
       .folder = "/",
       .lifetime = base::ChildLifetime::kOwn});
  ready.write.reset();
  if (is_ready(ready.read.number())) {
    base::standard_error().write(fmt::format("esper: started a daemon for {}\n", base::printable_line(state_dir)));
    return {.is_ready = true};
  }
  const auto status = base::await_child(child, kEndTime);  // one that has closed its files is about to end
  if (!status) return {};
  auto reason = not_started(state_dir, *status, words_from(log, log_begin));
  if (!is_try_again(*status)) throw reason;
  return {.reason = std::move(reason)};
}

Answer answer_of_started(const std::string& state_dir, const Ask& ask) {
  const auto started = start_daemon(state_dir);
  const auto deadline = std::chrono::steady_clock::now() + kOthersStartTime;
  auto response = ask();
  while (!response && !started.is_ready && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kAskAgain);
    response = ask();
  }
  if (!response && !started.is_ready && nobody_listens(state_dir)) {
    if (started.reason) throw *started.reason;
    throw Error(ExitCode::kResources, "the daemon did not start; see the end of " + log_of(state_dir));
  }
  return response;
}

}  // namespace

bool nobody_listens(const std::string& state_dir) {
  const auto place = http::unix_address(jobs::socket_of(state_dir));
  if (!place) return true;  // there is not even the folder
  const base::Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.is_open() || ::connect(probe.number(), place->get(), sizeof(place->address)) == 0) return false;
  return errno == ENOENT || errno == ECONNREFUSED;
}

Answer answer_or_start(const std::string& state_dir, const Ask& ask) {
  auto response = ask();
  const auto deadline = std::chrono::steady_clock::now() + kEndTime;
  while (!response) {
    if (nobody_listens(state_dir)) return answer_of_started(state_dir, ask);
    if (std::chrono::steady_clock::now() > deadline) break;
    std::this_thread::sleep_for(kAskAgain);
    // One that did not take the request may listen only since then; one that took it may be about to end.
    if (response.error().stage == http::RequestStage::kNotSent) response = ask();
  }
  return response;
}

}  // namespace esper
