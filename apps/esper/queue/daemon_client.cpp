#include "esper/queue/daemon_client.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <system_error>

#include "base/text/json_struct.h"
#include "base/text/printable.h"
#include "base/text/utf8.h"
#include "esper/queue/daemon_answer.h"
#include "esper/queue/daemon_start.h"
#include "esper/run_options.h"
#include "http/limits.h"
#include "jobs/daemon/daemon.h"
#include "jobs/daemon/state_lock.h"

namespace esper {
namespace {

using base::Error;
using base::ExitCode;

// As long as the daemon may take for a sweep, and then some.
constexpr auto kSubmissionTime = http::Limits{}.answer + std::chrono::minutes(1);

// The folder, or one above it, is another user's.
bool is_forbidden(const std::string& state_dir) {
  return ::access(jobs::socket_of(state_dir).c_str(), R_OK | W_OK) != 0 && errno == EACCES;
}

bool is_utf8_text(std::string_view text) {
  while (!text.empty()) {
    const int length = base::utf8_length(text);
    if (length < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(length));
  }
  return true;
}

// As JSON, which has no other texts than UTF-8: a path of other bytes would name another file.
std::string request_text(const nlohmann::json& body) {
  const auto texts = body.flatten();
  for (const auto& [place, value] : texts.items()) {
    if (!value.is_string()) continue;
    const auto& text = value.get_ref<const std::string&>();
    if (is_utf8_text(text)) continue;
    throw Error(ExitCode::kConfig, fmt::format("{}: {} is not UTF-8, which the daemon's interface needs; rename it",
                                               place.substr(1), base::in_quotes(text)));
  }
  return base::json_line(body);
}

nlohmann::json document_in(const DaemonAddress& address, std::string_view method, const Answer& response) {
  if (!response) {
    const auto error = no_answer(address, response.error());
    if (method == "GET" || response.error().stage == http::RequestStage::kNotSent) throw error;
    throw Error(error.code(),
                std::string(error.what()) +
                    "; the request may have been carried out anyway: check with esper jobs before you repeat it");
  }
  refuse_if_refused(address, *response);
  return document_of(address, *response);
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

Error no_answer(const DaemonAddress& address, const http::RequestFailure& failure) {
  const std::string state_dir = state_dir_of(address);
  if (is_forbidden(state_dir)) {
    return {ExitCode::kConfig, fmt::format("the daemon's folder {} cannot be entered: it, or a folder above it, "
                                           "belongs to another user; give --state-dir DIR",
                                           state_dir)};
  }
  if (nobody_listens(state_dir)) {
    if (const auto reason = jobs::lost_socket(state_dir)) return {ExitCode::kTryAgain, *reason};
    return {ExitCode::kTryAgain, fmt::format("no daemon answers for {}: {}; start one: esper daemon --state-dir {}",
                                             state_dir, failure.reason, state_dir)};
  }
  return {failure.stage == http::RequestStage::kInvalidAnswer ? ExitCode::kResources : ExitCode::kTryAgain,
          fmt::format("the daemon of {} is listening, but gave no usable answer: {}", state_dir, failure.reason)};
}

nlohmann::json ask_daemon(const DaemonAddress& address, std::string_view method, const std::string& target,
                          const nlohmann::json& body) {
  const std::string text = body.is_null() ? "" : request_text(body);
  return document_in(address, method, http::request(endpoint_of(address), method, target, text, kAnswerTime));
}

nlohmann::json submit_to_daemon(const DaemonAddress& address, const std::string& target,
                                const nlohmann::json& submission, StartDaemon start) {
  const http::Endpoint endpoint = endpoint_of(address);
  const std::string text = request_text(submission);
  const auto ask = [&] { return http::request(endpoint, "POST", target, text, kSubmissionTime); };
  const auto response = start == StartDaemon::kIfNeeded ? answer_or_start(state_dir_of(address), ask) : ask();
  return document_in(address, "POST", response);
}

std::string ask_daemon_text(const DaemonAddress& address, const std::string& target) {
  auto response = http::request(endpoint_of(address), "GET", target, "", kAnswerTime);
  if (!response) throw no_answer(address, response.error());
  refuse_if_refused(address, *response);
  return std::move(response->body);
}

}  // namespace esper
