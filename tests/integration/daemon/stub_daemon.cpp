#include "stub_daemon.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>

#include "base/fault.h"
#include "http/client.h"

namespace esper::test {
namespace {

using namespace std::chrono_literals;

// Its run folder is called NAME_SECONDS_CODE_TRAP. What it starts does not hold the job's lock.
constexpr std::string_view kScript = R"(#!/bin/sh
if [ "$1" = job-shim ]; then exec "$ESPER_OF_TEST" "$@"; fi
while [ $# -gt 0 ]; do
  case "$1" in --run-dir | --resume) run=$2 ;; esac
  shift
done
mkdir -p "$run/checkpoints"
: >> "$run/config.yaml"
trap=${run##*_}; rest=${run%_*}
code=${rest##*_}; rest=${rest%_*}
seconds=${rest##*_}
if [ "$trap" = deaf ]; then trap '' TERM
else
  checkpoint=$run/checkpoints/epoch-0001-step-000000001
  trap 'kill $nap; echo saved >> "$run/stops"; mkdir -p "$checkpoint"; exit 143' TERM
fi
echo begun >> "$run/begins"
sleep "$seconds" 3>&- 4>&- &
nap=$!
wait $nap
echo ended >> "$run/ends"
exit "$code"
)";

}  // namespace

StubDaemon::StubDaemon() {
  options.state_dir = (room.path / "state").string();
  options.program = room.write("stub", std::string(kScript));
  options.version = "test";
  options.config.restart_delay = 10ms;
  options.config.threads = 2;
  std::filesystem::permissions(options.program, std::filesystem::perms::owner_all);
}

StubDaemon::~StubDaemon() {
  kill();
  for (int id = 1; std::filesystem::exists(folder_of(id).path); ++id) {
    const auto attempt = jobs::read_attempt(folder_of(id));
    const auto found = attempt ? jobs::read_process(folder_of(id), attempt->attempt) : std::nullopt;
    if (!found) continue;
    jobs::send_signal(found->trainer, SIGKILL, jobs::SignalTarget::kGroup);
    jobs::send_signal(found->shim, SIGKILL, jobs::SignalTarget::kProcess);
  }
}

void StubDaemon::be_daemon() {
  ::setenv("ESPER_OF_TEST", binary().c_str(), 1);
  ::setenv("ESPER_FAULTS", faults.c_str(), 1);
  ::signal(SIGXFSZ, SIG_IGN);  // as the program's own start does
  try {
    base::fault::arm_from_text(faults);
    jobs::run_daemon(std::move(options));
  } catch (const base::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    ::_exit(static_cast<int>(error.code()));
  }
  ::_exit(0);
}

void StubDaemon::start() {
  REQUIRE(process() == 0);
  process_ = ::fork();
  REQUIRE(process_ >= 0);
  if (process_ == 0) be_daemon();
  REQUIRE(comes_true([&] { return process() == 0 || ask("GET", "/v1/daemon"); }));
}

pid_t StubDaemon::process() {
  if (process_ > 0 && ::waitpid(process_, &status_, WNOHANG) == process_) process_ = 0;
  return process_;
}

void StubDaemon::kill() {
  if (process() == 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, &status_, 0);
  process_ = 0;
}

int StubDaemon::stop() {
  if (process() > 0) ::kill(process_, SIGTERM);
  return wait_for_end();
}

int StubDaemon::wait_for_end() {
  REQUIRE(comes_true([&] { return process() == 0; }));
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

std::optional<http::Response> StubDaemon::ask(const std::string& method, const std::string& target,
                                              const nlohmann::json& body) const {
  const http::UnixEndpoint endpoint{jobs::socket_of(options.state_dir)};
  auto response = http::request(endpoint, method, target, body.is_null() ? "" : body.dump(), 60s);
  return response ? std::optional(*response) : std::nullopt;
}

std::string StubDaemon::run_dir_of(const StubJob& job) const {
  return fmt::format("{}/runs/{}_{}_{}_{}", room.path.string(), job.name, job.seconds, job.exit_code,
                     job.ignores_signals ? "deaf" : "hears");
}

nlohmann::json StubDaemon::submission(const StubJob& job) const {
  return {{"name", job.name},
          {"config", "name: " + job.name + "\n"},
          {"folder", room.path.string()},
          {"run_dir", run_dir_of(job)},
          {"needs", {{"threads", 1}}}};
}

int StubDaemon::submit(const StubJob& job, const nlohmann::json& more) const {
  auto document = submission(job);
  document.update(more);
  const auto response = ask("POST", "/v1/jobs", document);
  REQUIRE(response);
  CAPTURE(response->body);
  REQUIRE(response->status == 201);
  return nlohmann::json::parse(response->body)["id"];
}

nlohmann::json StubDaemon::job(int id) const {
  const auto response = ask("GET", fmt::format("/v1/jobs/{}", id));
  return response && response->status == 200 ? nlohmann::json::parse(response->body) : nlohmann::json::object();
}

bool StubDaemon::wait_for_state(int id, const std::string& state) const {
  return comes_true([&] { return job(id).value("state", "") == state; });
}

void StubDaemon::wait_for_begin(const StubJob& job) const {
  REQUIRE(comes_true([&] { return begins(job) > 0; }));
}

jobs::JobFolder StubDaemon::folder_of(int id) const { return {fmt::format("{}/jobs/{:06}", options.state_dir, id)}; }

int StubDaemon::lines_of(const StubJob& job, const std::string& file) const {
  std::ifstream lines(run_dir_of(job) + "/" + file);
  int count = 0;
  for (std::string line; std::getline(lines, line);) ++count;
  return count;
}

}  // namespace esper::test
