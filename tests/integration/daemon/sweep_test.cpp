// Sweeps as users have them: real trainings, in a daemon that may be killed.
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <map>
#include <thread>

#include "daemon_room.h"
#include "run_record.h"
#include "support/patience.h"

namespace esper::test::sweep_test {

using namespace esper::test;
using namespace std::chrono_literals;

namespace {

// Without growth: a run that was stopped at a rung then has the bits of one that was planned longer.
const std::string kRunFile =
    "extends: growing.yaml\nepochs: 4\ncheckpoint: {every: 1 epoch}\ngrowth: {enabled: false}\npolicy: {kind: none}\n"
    "runs_dir: ";

struct SweepRoom {
  DaemonRoom daemon;
  explicit SweepRoom(Words options = {"--threads", "2", "--restart-delay", "10ms", "--most-interruptions", "1000"})
      : daemon(std::move(options)) {
    daemon.room.write("growing.yaml", growing_config());
    daemon.room.write("run.yaml", kRunFile + daemon.room.path.string() + "/runs\n");
  }
  std::string write(const std::string& parameters) const {
    return daemon.room.write("sweep.yaml", "name: tried\nconfig: run.yaml\n" + parameters);
  }
  nlohmann::json submit(const std::string& parameters) const { return daemon.tell({"sweep", write(parameters)}); }
  nlohmann::json show() const { return daemon.tell({"sweep", "show", "1"}); }
  bool wait_for_end() const {
    const auto deadline = std::chrono::steady_clock::now() + kLongPatience;
    while (show()["sweep"]["state"] != "ended") {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(50ms);
    }
    return true;
  }
  nlohmann::json jobs() const { return daemon.tell({"jobs", "--sweep", "1"})["jobs"]; }
  std::map<std::string, int> jobs_by_state() const {
    std::map<std::string, int> counts;
    for (const auto& job : jobs()) ++counts[job["state"].get<std::string>()];
    return counts;
  }
};

double accuracy_of(const std::filesystem::path& run) {
  return read_json(run / "summary.json").at("validation").at("accuracy").get<double>();
}

const std::string kHalving =
    "method: halving\nsamples: 6\nhalving: {min_epochs: 1, factor: 2, max_epochs: 4}\nmax_running: 2\n"
    "parameters: {training.optimizer.lr: {min: 0.001, max: 0.3, scale: log}}\n";

// Each job's run has the bits of one that was trained straight to as many epochs.
void check_runs(const SweepRoom& room) {
  int number = 0;
  for (const auto& job : room.jobs()) {
    const std::filesystem::path run = job["run_dir"].get<std::string>();
    CAPTURE(run);
    const auto epochs = std::to_string(job["epochs"].get<int>());
    const auto config = room.daemon.room.write("straight.yaml", contents_of(run / "config.yaml"));
    const auto alone = room.daemon.room.path / "straight" / std::to_string(number++) / run.filename();
    REQUIRE(train(config, alone, {"epochs=" + epochs}).exit_code == 0);
    check_equal(record_of(run), record_of(alone), Telemetry::kMayLack);
  }
}

}  // namespace

TEST_CASE("a grid of two configurations and two seeds ends, and the table has the runs' means") {
  SweepRoom room;
  const auto made = room.submit("seeds: [1, 2]\nparameters: {training.optimizer.lr: [0.001, 0.05]}\n");
  CHECK(made["id"] == 1);
  REQUIRE(room.wait_for_end());
  const auto report = room.show();
  CHECK(report["sweep"]["jobs"] == nlohmann::json{{"succeeded", 4}});
  const std::filesystem::path runs = made["run_dir"].get<std::string>();
  CHECK(runs.parent_path() == room.daemon.room.path / "runs");
  REQUIRE(report["summary"]["rows"].size() == 2);
  for (const auto& row : report["summary"]["rows"]) {
    const std::string folder = "000" + std::to_string(row["configuration"].get<int>()) + "-seed-";
    CHECK(row["mean"] == (accuracy_of(runs / (folder + "1")) + accuracy_of(runs / (folder + "2"))) / 2);
    CHECK(row["half_width"].is_number());
  }
  CHECK(report["summary"]["best"] == report["summary"]["rows"][0]["configuration"]);
  const auto best = room.daemon.room.path / "best.yaml";
  room.daemon.tell({"sweep", "show", "1", "--best", best.string()});
  CHECK(contents_of(best).find("  epochs: 4") == std::string::npos);
  CHECK(contents_of(best).find("epochs: 4\n") != std::string::npos);
  CHECK(run_esper({"config", "check", best.string()}).exit_code == 0);
  CHECK(room.daemon.ask({"sweep", "show", "1", "--best", best.string()}).exit_code == 2);
  const auto text = run_esper({"sweep", "show", "1", "--state-dir", room.daemon.state_dir()}).out;
  CHECK(text.find("accuracy, 95 % interval") != std::string::npos);
  CHECK(text.find("best mean  configuration") != std::string::npos);
}

TEST_CASE("halving pauses at each rung, and who goes on has the bits of a run straight to its last epoch") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.wait_for_end());
  std::map<int, int> reached;
  for (const auto& job : room.jobs()) ++reached[job["epochs"].get<int>()];
  CHECK(reached[1] + reached[2] + reached[4] == 6);
  CHECK(reached[1] >= 1);  // the worst: whoever was among the best when its result came has gone on
  CHECK(reached[2] + reached[4] >= 3);
  CHECK(reached[4] >= 1);
  const auto states = room.jobs_by_state();
  CHECK(states.at("paused") == reached[1] + reached[2]);
  CHECK(states.at("succeeded") == reached[4]);
  for (const auto& job : room.jobs()) {
    const int expected = job["state"] == "paused" ? 130 : 0;
    const auto id = std::to_string(job["id"].get<int>());
    CHECK(room.daemon.ask({"job", "wait", id}).exit_code == expected);
    CHECK(room.daemon.ask({"attach", id}).exit_code == expected);
  }
  CHECK(room.show()["summary"]["rows"][0]["epochs"] == 4);
  check_runs(room);
}

TEST_CASE("a job whose user trained its run past its rungs keeps those epochs when it is resumed") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.wait_for_end());
  const auto jobs = room.jobs();
  const auto paused = std::ranges::find(jobs, "paused", [](const auto& job) { return job["state"]; });
  REQUIRE(paused != jobs.end());
  const std::filesystem::path run = (*paused)["run_dir"].get<std::string>();
  REQUIRE(resume(run, {"epochs=6"}).exit_code == 0);
  const int id = (*paused)["id"].get<int>();
  room.daemon.tell({"job", "resume", std::to_string(id)});
  REQUIRE(room.daemon.wait_for_state(id, "succeeded"));
  CHECK(read_json(run / "summary.json")["epochs"] == 6);
}

TEST_CASE("a daemon that is killed again and again while it sweeps loses no job and does none twice") {
  SweepRoom room;
  room.daemon.start();
  room.submit(kHalving);
  for (int kills = 0; kills < 12 && room.show()["sweep"]["state"] != "ended"; ++kills) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100 + 137 * kills % 400));
    if (room.daemon.daemon() > 0) ::kill(room.daemon.daemon(), SIGKILL);
    room.daemon.start();
  }
  REQUIRE(room.wait_for_end());
  CHECK(room.jobs().size() == 6);
  const auto states = room.jobs_by_state();
  CHECK(states.at("paused") + states.at("succeeded") == 6);
  check_runs(room);
}

TEST_CASE("a daemon that is killed at any of its writes for a sweep goes on from there") {
  for (int write = 0; write <= 15; ++write) {
    const std::string fault = write == 0 ? "jobs.before_commit@1" : "jobs.after_commit@" + std::to_string(write);
    CAPTURE(fault);
    SweepRoom room;
    const std::string sweep = room.write(
        "method: halving\nsamples: 2\nhalving: {min_epochs: 1, factor: 2, max_epochs: 2}\n"
        "parameters: {training.optimizer.lr: {min: 0.01, max: 0.3, scale: log}}\n");
    room.daemon.start();
    room.daemon.stop();
    ::setenv("ESPER_FAULTS", fault.c_str(), 1);
    room.daemon.start();
    ::unsetenv("ESPER_FAULTS");
    room.daemon.ask({"sweep", sweep});
    const auto deadline = std::chrono::steady_clock::now() + kLongPatience;
    while (room.daemon.daemon() > 0 && std::chrono::steady_clock::now() < deadline) {
      const auto shown = room.daemon.ask({"sweep", "show", "1"});
      if (shown.exit_code == 0 && json_of(shown)["sweep"]["state"] == "ended") break;
      std::this_thread::sleep_for(20ms);
    }
    if (room.daemon.daemon() == 0) room.daemon.start();
    REQUIRE(room.wait_for_end());
    const auto states = room.jobs_by_state();
    CHECK(states == std::map<std::string, int>{{"paused", 1}, {"succeeded", 1}});
  }
}

TEST_CASE("later edits of the sweep file and of the run file change nothing") {
  SweepRoom room;
  const std::string sweep = room.write("seeds: [1]\nparameters: {training.optimizer.lr: [0.05]}\n");
  room.daemon.tell({"sweep", sweep, "--hold"});
  room.daemon.room.write("run.yaml", "no run file: [");
  room.daemon.room.write("growing.yaml", "");
  std::ofstream(sweep) << "";
  room.daemon.tell({"sweep", "resume", "1"});
  REQUIRE(room.wait_for_end());
  CHECK(room.jobs_by_state() == std::map<std::string, int>{{"succeeded", 1}});
}

TEST_CASE("a sweep that is cancelled stops what runs and begins nothing more") {
  SweepRoom room;
  room.submit("max_running: 1\nparameters: {epochs: [100000, 100001]}\n");
  REQUIRE(room.daemon.wait_for_state(1, "running"));
  CHECK(room.jobs_by_state() == std::map<std::string, int>{{"held", 1}, {"running", 1}});
  CHECK(room.daemon.tell({"sweep", "cancel", "1"})["state"] == "cancelled");
  REQUIRE(room.daemon.wait_for_state(1, "cancelled"));
  CHECK(room.jobs_by_state() == std::map<std::string, int>{{"cancelled", 2}});
  CHECK(room.daemon.tell({"sweep", "list"})["sweeps"][0]["state"] == "cancelled");
  CHECK(room.daemon.ask({"sweep", "cancel", "1"}).exit_code == 2);
}

TEST_CASE("a sweep file is refused with all of its problems, and nothing is queued") {
  SweepRoom room;
  const auto refused = room.daemon.ask(
      {"sweep", room.write("method: grid\nsamples: 3\nparameters: {training.optimizer.lr: [-1], x: [1]}\n")});
  CHECK(refused.exit_code == 2);
  CHECK(json_of(refused)["error"]["problems"].size() >= 2);
  CHECK(room.daemon.daemon() == 0);
  const auto missing = room.daemon.ask({"sweep", "no/such.yaml"});
  CHECK(missing.exit_code == 2);
  CHECK(room.daemon.ask({"sweep"}).exit_code == 2);
}

TEST_CASE("a dry run lists the configurations and needs no daemon") {
  SweepRoom room;
  const auto preview = room.daemon.tell({"sweep", room.write(kHalving), "--dry-run"});
  CHECK(preview["configurations"].size() == 6);
  CHECK(preview["rungs"] == nlohmann::json{1, 2, 4});
  CHECK(room.daemon.daemon() == 0);
}

}  // namespace esper::test::sweep_test
