#include "esper/bench_daemon/measured_daemon.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/text/child_process.h"
#include "base/text/json_struct.h"
#include "esper/own_program.h"
#include "esper/queue/daemon_client.h"
#include "http/client.h"
#include "jobs/daemon/daemon.h"

namespace esper {
namespace {

using Clock = std::chrono::steady_clock;
using base::Error;
using base::ExitCode;

constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kLookAgain = std::chrono::microseconds(500);

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace

MeasuredDaemon::MeasuredDaemon(std::string folder) : folder_(std::move(folder)) { start(); }

MeasuredDaemon::~MeasuredDaemon() { end(); }

double MeasuredDaemon::start() {
  const base::Descriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto begin = Clock::now();
  process_ = base::start_child(
      {.command = {own_program(), "daemon", "--state-dir", state_dir()},
       .files = {
           {STDIN_FILENO, nothing.number()}, {STDOUT_FILENO, nothing.number()}, {STDERR_FILENO, nothing.number()}}});
  const http::UnixEndpoint endpoint{jobs::socket_of(state_dir())};
  while (true) {
    const auto answer = http::request(endpoint, "GET", "/v1/daemon", "", kPatience);
    if (answer && answer->status == 200) return ms_since(begin);
    if (Clock::now() - begin > kPatience) throw Error(ExitCode::kResources, "the daemon to measure does not answer");
    std::this_thread::sleep_for(kLookAgain);
  }
}

void MeasuredDaemon::kill() {
  if (!end()) throw Error(ExitCode::kResources, "the measured daemon was killed and does not exit");
}

bool MeasuredDaemon::end() {
  if (process_ == 0) return true;
  ::kill(process_, SIGKILL);
  return base::await_child(std::exchange(process_, 0), kPatience).has_value();
}

TimedAnswer MeasuredDaemon::ask(const std::string& method, const std::string& target,
                                const nlohmann::json& body) const {
  const http::UnixEndpoint endpoint{jobs::socket_of(state_dir())};
  const std::string text = body.is_null() ? "" : base::json_line(body);
  const auto begin = Clock::now();
  const auto answer = http::request(endpoint, method, target, text, kPatience);
  const double ms = ms_since(begin);
  if (!answer) throw Error(ExitCode::kResources, "the measured daemon does not answer: " + answer.error().reason);
  if (answer->status >= 300)
    throw Error(ExitCode::kResources,
                fmt::format("the measured daemon refused {} {}: {}", method, target, answer->body));
  const auto document = base::parse_json(answer->body, http::kMostResponseBodyBytes);
  return {ms, answer->body.size(), document ? *document : nlohmann::json()};
}

TimedAnswer MeasuredDaemon::submit(const jobs::Submission& submission) const {
  return ask("POST", "/v1/jobs", base::to_json(submission));
}

}  // namespace esper
