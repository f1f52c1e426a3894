#include "daemon_room.h"

#include <signal.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include "base/text/child_process.h"
#include "jobs/process/job_files.h"
#include "support/patience.h"

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
    while (is_alive(id)) {
      const auto [shim, trainer] = processes_of(id);
      if (trainer > 0) ::kill(trainer, SIGKILL);
      if (shim > 0) ::kill(shim, SIGKILL);
      std::this_thread::sleep_for(5ms);
    }
  }
}

void DaemonRoom::start() {
  base::start_child({.command = Words{binary(), "daemon", "--state-dir", state_dir()} + options_,
                     .files = {},
                     .lifetime = base::ChildLifetime::kOwn});
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (ask({"daemon", "status"}).exit_code != 0) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    std::this_thread::sleep_for(5ms);
  }
}

pid_t DaemonRoom::daemon() const {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {  // one that has ended still answers to its number
  }
  pid_t process = 0;
  std::ifstream(state_dir() + "/lock") >> process;
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
  const auto deadline = std::chrono::steady_clock::now() + 240s;
  while (job(id)["state"] != state) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

DaemonRoom::Processes DaemonRoom::processes_of(int id) const {
  const auto folder = folder_of(state_dir(), id);
  const auto attempt = jobs::read_attempt(folder);
  const auto found = attempt ? jobs::read_process(folder, attempt->attempt) : std::nullopt;
  if (!found) return {};
  return {lives(found->shim) ? static_cast<pid_t>(found->shim.pid) : 0,
          lives(found->trainer) ? static_cast<pid_t>(found->trainer.pid) : 0};
}

bool DaemonRoom::is_alive(int id) const { return !jobs::try_lock(folder_of(state_dir(), id)).is_open(); }

}  // namespace esper::test
