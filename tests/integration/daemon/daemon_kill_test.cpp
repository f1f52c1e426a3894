// Daemon, shims and trainers are killed in random order, again and again, while four jobs run.
#include <signal.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <thread>

#include "audit.h"
#include "daemon_room.h"
#include "run_record.h"

namespace esper::test::daemon_kill_test {

using namespace esper::test;
using namespace std::chrono_literals;

namespace {

constexpr int kJobs = 4;

// ESPER_KILLS=200 for the long drill.
int kills_wanted() {
  const char* text = std::getenv("ESPER_KILLS");
  return text == nullptr ? 40 : std::atoi(text);
}

// Long enough that the jobs do not end before the kills.
Words settings_of(int job) {
  return {"epochs=" + std::to_string(3 * kills_wanted()), "seed=" + std::to_string(100 + job)};
}

struct Scorecard {
  int daemons = 0, shims = 0, trainers = 0;
  int attempts = 0, ended_once = 0, equal_bits = 0, orphans = 0;
  int all() const { return daemons + shims + trainers; }
};

nlohmann::ordered_json json_of(const Scorecard& score) {
  return {{"jobs", kJobs},
          {"kills", {{"daemon", score.daemons}, {"shim", score.shims}, {"trainer", score.trainers}}},
          {"attempts", score.attempts},
          {"ended_once", score.ended_once},
          {"equal_bits", score.equal_bits},
          {"orphan_processes", score.orphans}};
}

// As $ESPER_ARTEFACTS/daemon_kill_scorecard.json, else in the build folder.
void write_scorecard(const Scorecard& score) {
  const char* folder = std::getenv("ESPER_ARTEFACTS");
  const auto text = json_of(score).dump(1);
  std::ofstream(std::string(folder == nullptr ? ESPER_BINARY_DIR : folder) + "/daemon_kill_scorecard.json")
      << text << '\n';
  std::cout << text << '\n';
}

// Processes whose command line names the folder: shims have it, and trainers as their run's.
int processes_that_name(const std::string& folder) {
  int count = 0;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(process.path() / "cmdline");
    const std::string words{std::istreambuf_iterator<char>(file), {}};
    count += words.find(folder) != std::string::npos;
  }
  return count;
}

bool have_all_ended(const DaemonRoom& daemon) {
  for (int id = 1; id <= kJobs; ++id) {
    const auto state = daemon.job(id)["state"];
    if (state != "succeeded") return false;
  }
  return true;
}

void kill_one(DaemonRoom& daemon, std::mt19937& random, Scorecard& score) {
  const int target = static_cast<int>(random() % 3);
  const auto processes = daemon.processes_of(1 + static_cast<int>(random() % kJobs));
  if (target == 0 && daemon.daemon() > 0) {
    ::kill(daemon.daemon(), SIGKILL);
    ++score.daemons;
    daemon.start();
  } else if (target == 1 && processes.shim > 0) {
    ::kill(processes.shim, SIGKILL);
    ++score.shims;
  } else if (target == 2 && processes.trainer > 0) {
    ::kill(processes.trainer, SIGKILL);
    ++score.trainers;
  }
}

}  // namespace

TEST_CASE("whatever is killed, each job ends once, with the bits of an undisturbed run, and leaves no process") {
  DaemonRoom daemon({"--threads", "4", "--restart-delay", "10ms", "--most-interruptions", "1000"});
  const auto config = daemon.room.write("growing.yaml", growing_config());
  daemon.start();
  for (int id = 1; id <= kJobs; ++id) {
    const auto job = daemon.tell(Words{"submit", config, "--run-dir", daemon.room.run(std::to_string(id)).string()} +
                                 sets(settings_of(id) + Words{"device.threads=1"}));
    REQUIRE(job["id"] == id);
  }
  std::mt19937 random(20261124);
  Scorecard score;
  const auto deadline = std::chrono::steady_clock::now() + 20min;
  const int wanted = kills_wanted();
  while (!have_all_ended(daemon)) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    if (score.all() < wanted) kill_one(daemon, random, score);
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 200));
  }
  for (int id = 1; id <= kJobs; ++id) score.attempts += daemon.job(id)["attempts"].get<int>();
#ifndef __SANITIZE_ADDRESS__  // with it everything takes so long that fewer fit into the time
  CHECK(score.all() >= wanted / 2);
#endif
  CHECK(score.attempts > kJobs);
  for (int id = 1; id <= kJobs; ++id) {
    CAPTURE(id);
    CHECK(!daemon.is_alive(id));
    const auto alone = daemon.room.run("alone" + std::to_string(id));
    REQUIRE(train(config, alone, settings_of(id) + Words{"device.threads=1"}).exit_code == 0);
    check_equal(record_of(daemon.room.run(std::to_string(id))), record_of(alone), Telemetry::kMayLack);
    ++score.equal_bits;
  }
  daemon.stop();
  score.orphans = processes_that_name(daemon.room.path.string());
  for (const auto& [id, history] : histories_of(daemon.state_dir()))
    score.ended_once += is_legal(history) && times_ended(history) == 1;
  write_scorecard(score);
  CHECK(score.orphans == 0);
  CHECK(score.ended_once == kJobs);
}

}  // namespace esper::test::daemon_kill_test
