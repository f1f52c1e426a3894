// Daemon, shims and trainers are killed in random order, again and again, while four jobs run.
#include <signal.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

#include "daemon_room.h"
#include "run_record.h"

using namespace esper::test;
using namespace std::chrono_literals;

namespace {

constexpr int kJobs = 4;

// ESPER_KILLS=200 for the long drill.
int kills_wanted() {
  const char* text = std::getenv("ESPER_KILLS");
  return text == nullptr ? 40 : std::atoi(text);
}

Words settings_of(int job) { return {"epochs=60", "seed=" + std::to_string(100 + job)}; }

struct Scorecard {
  int daemons = 0, shims = 0, trainers = 0;
  int all() const { return daemons + shims + trainers; }
};

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
  int attempts = 0;
  for (int id = 1; id <= kJobs; ++id) attempts += daemon.job(id)["attempts"].get<int>();
  std::cout << "killed: " << score.daemons << " daemons, " << score.shims << " shims, " << score.trainers
            << " trainers; " << attempts << " attempts for " << kJobs << " jobs\n";
  CHECK(score.all() >= std::min(wanted, 10));
  CHECK(attempts > kJobs);
  for (int id = 1; id <= kJobs; ++id) {
    CAPTURE(id);
    CHECK(!daemon.is_alive(id));
    const auto alone = daemon.room.run("alone" + std::to_string(id));
    REQUIRE(train(config, alone, settings_of(id) + Words{"device.threads=1"}).exit_code == 0);
    check_equal(record_of(daemon.room.run(std::to_string(id))), record_of(alone), Telemetry::kMayLack);
  }
}
