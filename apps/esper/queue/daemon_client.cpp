#include "esper/queue/daemon_client.h"

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
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <system_error>
#include <thread>

#include "base/descriptor.h"
#include "base/text/child_process.h"
#include "base/text/json_struct.h"
#include "base/text/printable.h"
#include "base/text/text_outlet.h"
#include "esper/run_options.h"
#include "http/client.h"
#include "http/unix_address.h"
#include "jobs/daemon/daemon.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper {
namespace {

using base::Error;
using base::ExitCode;

constexpr auto kAnswerTime = std::chrono::seconds(30);
constexpr int kStartTimeMs = 20000;
constexpr auto kOthersStartTime = std::chrono::seconds(10);
constexpr auto kAskAgain = std::chrono::milliseconds(50);
constexpr auto kEndTime = std::chrono::seconds(1);
constexpr std::size_t kMostWords = 4000;
constexpr int kReadyFile = 5;
constexpr std::size_t kMostAnswerBytes = 64u << 20;

std::string log_of(const std::string& state_dir) { return state_dir + "/daemon.log"; }

struct ReadyPipe {
  base::Descriptor read, write;
};

ReadyPipe ready_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  return {base::Descriptor(ends[0]), base::Descriptor(ends[1])};
}

// Whether the daemon said that it listens, before it ended and before the time was over.
bool is_ready(int pipe) {
  pollfd waiting{pipe, POLLIN, 0};
  if (::poll(&waiting, 1, kStartTimeMs) != 1) return false;
  std::array<char, 16> said{};
  return ::read(pipe, said.data(), said.size()) > 0;
}

// How a child process ended; nothing: it runs. A process that has closed its files is about to end.
std::optional<int> end_of_child(pid_t child) {
  const auto deadline = std::chrono::steady_clock::now() + kEndTime;
  int status = 0;
  while (true) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    if (std::chrono::steady_clock::now() > deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
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
  storage::ensure_folder(storage::real_file_system(), state_dir);
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
  const auto status = end_of_child(child);
  if (!status) return {};
  auto reason = not_started(state_dir, *status, words_from(log, log_begin));
  if (!is_try_again(*status)) throw reason;
  return {.reason = std::move(reason)};
}

// No socket, or one that a daemon left which has ended. A daemon that is slow, or full, listens.
bool nobody_listens(const std::string& state_dir) {
  const auto place = http::unix_address(jobs::socket_of(state_dir));
  if (!place) return true;  // there is not even the folder
  const base::Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.is_open() || ::connect(probe.number(), place->get(), sizeof(place->address)) == 0) return false;
  return errno == ENOENT || errno == ECONNREFUSED;
}

// The folder, or one above it, is another user's.
bool is_forbidden(const std::string& state_dir) {
  return ::access(jobs::socket_of(state_dir).c_str(), R_OK | W_OK) != 0 && errno == EACCES;
}

// Whether the daemon may have had the whole request, though no answer came: by how http::request() begins its reasons.
bool may_have_come(const std::string& reason) {
  return !reason.starts_with("cannot ") && !reason.starts_with("the server did not take the request");
}

// The answer of a daemon that is started for it.
base::Expected<http::Response> answer_of_started(const std::string& state_dir,
                                                 const std::function<base::Expected<http::Response>()>& ask) {
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

nlohmann::json document_of(const http::Response& response) {
  auto document = base::parse_json(response.body, kMostAnswerBytes);
  if (!document) throw Error(ExitCode::kBug, "the daemon's answer cannot be read: " + document.error());
  return std::move(*document);
}

void refuse_if_refused(const http::Response& response, const nlohmann::json& document) {
  constexpr int kChangedMeanwhile = 412, kBusy = 503;
  const int status = response.status;
  if (status < 300) return;
  const auto reason = document.value("error", fmt::format("the daemon refused with status {}", status));
  if (status == kChangedMeanwhile || status == kBusy) throw Error(ExitCode::kTryAgain, reason);
  throw Error(status >= 500 ? ExitCode::kResources : ExitCode::kConfig, reason);
}

}  // namespace

std::string new_submission_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::string working_folder() {
  std::error_code failed;
  const auto folder = std::filesystem::current_path(failed);
  if (failed) {
    throw Error(ExitCode::kConfig,
                "the working folder cannot be used (" + failed.message() + "): change to one that exists");
  }
  return folder.string();
}

std::string absolute_path(const std::string& path) {
  return (path.starts_with('/') ? std::filesystem::path(path) : std::filesystem::path(working_folder()) / path)
      .lexically_normal()
      .string();
}

CLI::Validator job_or_sweep_number() { return whole_number(1, std::numeric_limits<std::int64_t>::max(), "POSITIVE"); }

CLI::Validator priority_number() {
  using Limits = std::numeric_limits<std::int64_t>;
  return whole_number(Limits::min(), Limits::max());
}

std::string own_program() {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) throw Error(ExitCode::kResources, "cannot find this program's own file: " + failed.message());
  return path.string();
}

void add_daemon_options(CLI::App& command, DaemonAddress& address) {
  command
      .add_option(
          "--state-dir", address.state_dir,
          "The daemon's folder; default: $ESPER_DAEMON_DIR, else esper/daemon in $XDG_STATE_HOME or ~/.local/state")
      ->type_name("DIR")
      ->check(refuse_empty);
  add_json_flag(command, address.json);
}

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string state_dir_of(const DaemonAddress& address) {
  std::string path = address.state_dir.empty() ? environment_value("ESPER_DAEMON_DIR") : address.state_dir;
  if (path.empty()) {
    const std::string state = environment_value("XDG_STATE_HOME"), home = environment_value("HOME");
    if (state.empty() && home.empty())
      throw Error(ExitCode::kConfig, "there is no home folder for the daemon's state: give --state-dir DIR");
    path = (state.empty() ? home + "/.local/state" : state) + "/esper/daemon";
  }
  return absolute_path(path);
}

http::Endpoint endpoint_of(const DaemonAddress& address) {
  return http::UnixEndpoint{jobs::socket_of(state_dir_of(address))};
}

Error no_answer(const DaemonAddress& address, const std::string& reason) {
  const std::string state_dir = state_dir_of(address);
  if (is_forbidden(state_dir)) {
    return {ExitCode::kConfig,
            fmt::format("the daemon's folder {} may not be entered: it, or a folder above it, belongs to another user; "
                        "give --state-dir DIR",
                        state_dir)};
  }
  if (nobody_listens(state_dir)) {
    return {ExitCode::kTryAgain, fmt::format("no daemon answers for {}: {}; start one: esper daemon --state-dir {}",
                                             state_dir, reason, state_dir)};
  }
  // As http::request() begins the reason for one that is damaged or too large.
  const bool is_lasting = reason.starts_with("the answer is not valid");
  return {is_lasting ? ExitCode::kResources : ExitCode::kTryAgain,
          fmt::format("the daemon of {} listens, but gave no answer that can be used: {}", state_dir, reason)};
}

nlohmann::json ask_daemon(const DaemonAddress& address, std::string_view method, const std::string& target,
                          const nlohmann::json& body, StartDaemon start) {
  const http::Endpoint endpoint = endpoint_of(address);
  const std::string text = body.is_null() ? "" : base::json_line(body);
  const auto ask = [&] { return http::request(endpoint, method, target, text, kAnswerTime); };
  const std::string state_dir = state_dir_of(address);
  auto response = ask();
  if (!response && start == StartDaemon::kIfNeeded && nobody_listens(state_dir)) {
    response = answer_of_started(state_dir, ask);
  }
  if (!response) {
    const auto error = no_answer(address, response.error());
    if (method == "GET" || !may_have_come(response.error())) throw error;
    throw Error(error.code(), std::string(error.what()) +
                                  "; it may have been done all the same: look with esper jobs before you repeat it");
  }
  auto document = document_of(*response);
  refuse_if_refused(*response, document);
  return document;
}

std::string ask_daemon_text(const DaemonAddress& address, const std::string& target) {
  auto response = http::request(endpoint_of(address), "GET", target, "", kAnswerTime);
  if (!response) throw no_answer(address, response.error());
  if (response->status >= 300) refuse_if_refused(*response, document_of(*response));
  return std::move(response->body);
}

}  // namespace esper
