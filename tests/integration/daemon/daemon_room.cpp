#include "daemon_room.h"

#include <signal.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <fstream>

#include "base/text/child_process.h"
#include "jobs/process/job_files.h"
#include "support/comes_true.h"

namespace esper::test {
namespace {

using namespace std::chrono_literals;

jobs::JobFolder folder_of(const std::string& state_dir, int id) {
  const std::string number = std::to_string(id);
  return {state_dir + "/jobs/" + std::string(6 - number.size(), '0') + number};
}

bool lives(const jobs::ProcessIdentity& process) {
  return process.pid > 1 && jobs::identity_of(static_cast<pid_t>(process.pid)) == process;
}

}  // namespace

DaemonRoom::DaemonRoom(Words options) : options_(std::move(options)) {}

DaemonRoom::~DaemonRoom() {
  if (const pid_t process = daemon(); process > 0) ::kill(process, SIGKILL);
  for (int id = 1; std::filesystem::exists(folder_of(state_dir(), id).path); ++id) {
    const bool has_ended = comes_true([&] {
      const auto [shim, trainer] = processes_of(id);
      if (trainer > 0) ::kill(trainer, SIGKILL);
      if (shim > 0) ::kill(shim, SIGKILL);
      return !is_alive(id);
    });
    CHECK(has_ended);
  }
}

void DaemonRoom::start() {
  REQUIRE(comes_true([&] { return daemon() == 0; }));  // one that was killed may not have ended yet
  base::start_child({.command = Words{binary(), "daemon", "--state-dir", state_dir()} + options_,
                     .files = {},
                     .lifetime = base::ChildLifetime::kOwn});
  REQUIRE(comes_true([&] { return ask({"daemon", "status"}).exit_code == 0; }));
}

void DaemonRoom::stop() const {
  tell({"daemon", "stop"});
  REQUIRE(comes_true([&] { return daemon() == 0; }));
}

pid_t DaemonRoom::daemon() const {
  pid_t process = 0;
  std::ifstream(state_dir() + "/lock") >> process;
  if (process > 1) ::waitpid(process, nullptr, WNOHANG);  // one that has ended still answers to its number
  return process > 1 && ::kill(process, 0) == 0 ? process : 0;
}

Finished DaemonRoom::ask(const Words& words) const {
  return run_esper(words + Words{"--state-dir", state_dir(), "--json"});
}

nlohmann::json DaemonRoom::tell(const Words& words) const {
  const auto told = ask(words);
  CAPTURE(told.out, told.err);
  REQUIRE(told.exit_code == 0);
  return json_of(told);
}

bool DaemonRoom::wait_for_state(int id, const std::string& state) const {
  return comes_true([&] { return job(id)["state"] == state; }, 240s);
}

DaemonRoom::Processes DaemonRoom::processes_of(int id) const {
  const auto folder = folder_of(state_dir(), id);
  const auto attempt = jobs::read_attempt(folder);
  const auto found = attempt ? jobs::read_process(folder, attempt->attempt) : std::nullopt;
  if (!found) return {};
  return {lives(found->shim) ? static_cast<pid_t>(found->shim.pid) : 0,
          lives(found->trainer) ? static_cast<pid_t>(found->trainer.pid) : 0};
}

bool DaemonRoom::is_alive(int id) const {
  const auto folder = folder_of(state_dir(), id);
  return std::filesystem::exists(folder.path) && !jobs::try_lock(folder).is_open();  // a job gets it when it begins
}

}  // namespace esper::test
