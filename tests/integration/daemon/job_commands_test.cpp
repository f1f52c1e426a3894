// What users ask of jobs that were submitted: `esper submit --repeat`, `job`, `jobs --watch`, `attach`, `logs -f`.
#include <fmt/core.h>
#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include "daemon_room.h"
#include "jobs/process/job_files.h"
#include "run_record.h"
#include "support/comes_true.h"

namespace esper::test::job_commands_test {

using namespace esper::test;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const Words kLasting = sets({"epochs=100000", "device.threads=1"});
const Words kBrief = sets({"epochs=2", "device.threads=1"});

struct Jobs {
  DaemonRoom daemon{{"--threads", "1", "--restart-delay", "10ms"}};
  std::string config = daemon.room.write("growing.yaml", growing_config());

  Jobs() { daemon.start(); }
  fs::path run(int number) const { return daemon.room.run("submitted" + std::to_string(number)); }
  int submit(const Words& words) {
    return daemon.tell(Words{"submit", config, "--run-dir", run(++submitted)} + words)["id"].get<int>();
  }
  RunningProgram follow(const Words& words) const {
    return RunningProgram(Words{binary()} + words + Words{"--state-dir", daemon.state_dir()});
  }
  // What it prints, on both streams, goes to the file, so that it can be waited for.
  RunningProgram follow_into(const fs::path& file, const std::string& words) const {
    return RunningProgram(
        {"/bin/bash", "-c",
         fmt::format("exec '{}' {} --state-dir '{}' > '{}' 2>&1", binary(), words, daemon.state_dir(), file.string())});
  }
  pid_t trainer_of(int job) const {
    const pid_t trainer = daemon.processes_of(job).trainer;
    REQUIRE(trainer > 0);
    return trainer;
  }
  bool wait_for_epoch(int number) const { return wait_for_epoch_after("", number); }
  // In a packet after the first one with that text.
  bool wait_for_epoch_after(const std::string& text, int number) const {
    for (const auto deadline = std::chrono::steady_clock::now() + kPatience;
         std::chrono::steady_clock::now() < deadline; std::this_thread::sleep_for(20ms)) {
      if (!fs::exists(run(number) / "telemetry.jsonl")) continue;
      const auto telemetry = contents_of(run(number) / "telemetry.jsonl");
      const auto packet = text.empty() ? 0 : telemetry.find('\n', telemetry.find(text));
      if (packet != std::string::npos && telemetry.find("tolaria.training.loss", packet) != std::string::npos)
        return true;
    }
    return false;
  }
  int submitted = 0;
};

bool wait_for_text(const fs::path& file, const std::string& text) {
  return comes_true([&] { return contents_of(file).find(text) != std::string::npos; });
}

std::string checkpoint_within(const fs::path& run, int epoch) {
  for (const auto& name : checkpoints_of(run)) {
    const auto progress = state_of(run, name)["progress"];
    if (progress["epoch"] == epoch && progress["batch"] != 0) return name;
  }
  FAIL("no checkpoint within the epoch after " << epoch);
  return {};
}

}  // namespace

TEST_CASE("one submit for several seeds makes a job for each, and all of them are waited for") {
  Jobs jobs;
  const auto made = jobs.daemon.tell(Words{"submit", jobs.config, "--repeat", "seeds=3,5", "--hold", "--run-dir",
                                           jobs.daemon.room.run("many").string()} +
                                     kBrief)["jobs"];
  REQUIRE(made.size() == 2);
  CHECK_THAT(made[1]["name"].get<std::string>(), ContainsSubstring("-seed-5"));
  const int failing = jobs.submit(kBrief + sets({"data.kind=npy", "data.path=/nowhere"}));
  CHECK(jobs.daemon.ask({"job", "wait", "1", "--timeout", "0.1"}).exit_code == 75);
  jobs.daemon.tell({"job", "resume", "1", "2"});
  const auto ended = jobs.daemon.ask({"job", "wait", "1", "2", std::to_string(failing)});
  CHECK(ended.exit_code == 3);
  CHECK(json_of(ended)["jobs"][1]["state"] == "succeeded");
  for (const auto& job : made) {
    const auto seed = job["name"] == made[0]["name"] ? "seed: 3" : "seed: 5";
    CHECK_THAT(contents_of(fs::path(job["run_dir"].get<std::string>()) / "config.yaml"), ContainsSubstring(seed));
  }
  const auto refused = jobs.daemon.ask({"submit", jobs.config, "--repeat", "epochs=1..3"});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("--repeat seeds=1..5"));
}

TEST_CASE("a job that has not begun is edited in all fields, one that has in some") {
  Jobs jobs;
  const int job = jobs.submit(kLasting + Words{"--hold"});
  const int later = jobs.submit(kBrief + Words{"--hold", "--after", std::to_string(job)});
  const auto id = std::to_string(job);
  jobs.daemon.tell({"job", "edit", id, "--set", "epochs=2", "--name", "other", "--priority", "4", "--memory", "1MiB"});
  const auto edited = jobs.daemon.job(job);
  CHECK(edited["name"] == "other");
  CHECK(edited["priority"] == 4);
  CHECK(edited["needs"]["memory_bytes"] == 1 << 20);
  const auto wrong = jobs.daemon.ask({"job", "edit", id, "--set", "epochs=x", "--set", "sead=3"});
  CHECK(wrong.exit_code == 2);
  CHECK(json_of(wrong)["error"]["problems"].size() == 2);
  const auto untrainable = jobs.daemon.ask({"job", "edit", id, "--set", "step.lane=graph", "device.kind=cpu"});
  CHECK(untrainable.exit_code == 2);
  CHECK_THAT(untrainable.err, ContainsSubstring("--set step.lane=graph: step.lane: graph cannot run with device.kind"));
  const auto circle = jobs.daemon.ask({"job", "edit", id, "--after", std::to_string(later)});
  CHECK(circle.exit_code == 2);
  CHECK_THAT(circle.err, ContainsSubstring("neither would begin"));
  CHECK(jobs.daemon.ask({"job", "edit", id}).exit_code == 2);
  jobs.daemon.tell({"job", "resume", id});
  REQUIRE(jobs.daemon.ask({"job", "wait", id}).exit_code == 0);
  CHECK(read_json(jobs.run(1) / "summary.json")["epochs"] == 2);
  const auto late = jobs.daemon.ask({"job", "edit", id, "--set", "epochs=9"});
  CHECK(late.exit_code == 2);
  jobs.daemon.tell({"job", "edit", id, "--name", "renamed"});

  const auto audit = jobs.daemon.tell({"daemon", "audit"})["audit"];
  CHECK(audit[2]["what"] == "edit");
  CHECK(audit[2]["details"] == "name other, priority 4, threads 1, memory_bytes 1048576, run file");
  CHECK(audit.back()["details"] == "name renamed");
}

TEST_CASE("a job set while it trains, killed and resumed, equals a run that was set at the same epoch") {
  Jobs jobs;
  // At this rate the whole run has no reaction to a loss: its journal is copied, and a resumed run repeats those in it.
  const Words planned{"device.threads=1", "epochs=60", "training.optimizer.lr=0.02"};
  const int job = jobs.submit(sets(planned));
  const auto id = std::to_string(job), setting = std::string("training.optimizer.lr=0.01");
  REQUIRE(jobs.wait_for_epoch(1));
  const pid_t trainer = jobs.trainer_of(job);
  ::kill(trainer, SIGSTOP);
  const auto set = jobs.daemon.tell({"job", "set", id, setting});
  CHECK(set["from"] == "end_of_epoch");
  CHECK(set["changes"][0]["after"] == "0.01");
  ::kill(trainer, SIGCONT);
  const auto accepted = jobs.run(1) / "changes" / "accepted.json";
  REQUIRE(comes_true([&] { return fs::exists(accepted); }));
  ::kill(trainer, SIGKILL);
  REQUIRE(jobs.daemon.ask({"job", "wait", id}).exit_code == 0);
  CHECK(jobs.daemon.job(job)["attempts"] == 2);

  const int epoch = read_json(accepted)["changes"][0]["epoch"];
  const auto whole = jobs.daemon.room.run("whole"), alone = jobs.daemon.room.run("alone");
  REQUIRE(train(jobs.config, whole, planned).exit_code == 0);
  copy_run_until(whole, checkpoint_within(whole, epoch - 2), alone);
  REQUIRE(run_esper({"set", alone, setting}).exit_code == 0);
  REQUIRE(resume(alone).exit_code == 0);
  CHECK(read_json(alone / "changes" / "accepted.json")["changes"][0]["epoch"] == epoch);
  auto record = record_of(jobs.run(1));
  const auto is_before = [&](const auto& entry) { return entry.first <= epoch - 2; };  // of the copied part
  std::erase_if(record.epochs, is_before);
  std::erase_if(record.decisions, is_before);
  check_equal(record, record_of(alone), Telemetry::kMayLack);
}

TEST_CASE("settings of a job without a run, or that is no live field, are refused with the way out") {
  Jobs jobs;
  const auto id = std::to_string(jobs.submit(kBrief + Words{"--hold"}));
  const auto shown = [&] { return run_esper({"job", "show", id, "--state-dir", jobs.daemon.state_dir()}).out; };
  CHECK_THAT(shown(), ContainsSubstring("epochs         -\n"));
  const auto early = jobs.daemon.ask({"job", "set", id, "epochs=3"});
  CHECK(early.exit_code == 2);
  CHECK_THAT(early.err, ContainsSubstring("esper job edit " + id));
  jobs.daemon.tell({"job", "resume", id});
  REQUIRE(jobs.daemon.wait_for_state(1, "succeeded"));
  CHECK_THAT(shown(), ContainsSubstring("epochs         2/2\n"));
  CHECK(jobs.daemon.ask({"job", "set", id, "epochs=3"}).exit_code == 2);
}

TEST_CASE("attach shows the epochs, and ends as the training does") {
  Jobs jobs;
  const int job = jobs.submit(sets({"device.threads=1", "epochs=12"}) + Words{"--hold"});
  const auto file = jobs.daemon.room.path / "attached";
  auto attached = jobs.follow_into(file, "attach " + std::to_string(job));
  REQUIRE(wait_for_text(file, "job 1 held"));
  jobs.daemon.tell({"job", "resume", std::to_string(job)});
  CHECK(attached.wait().exit_code == 0);
  const auto shown = contents_of(file);
  CHECK_THAT(shown, ContainsSubstring("epoch 12/12  train loss"));
  CHECK_THAT(shown, ContainsSubstring("job 1 succeeded"));
}

TEST_CASE("attach shows from its first line on the epochs that a run was set to while it trained") {
  Jobs jobs;
  const auto id = std::to_string(jobs.submit(kLasting + sets({"policy.kind=none", "growth.enabled=false"})));
  REQUIRE(jobs.wait_for_epoch(1));
  jobs.daemon.tell({"job", "set", id, "epochs=99000"});
  REQUIRE(jobs.wait_for_epoch_after("tolaria.setting_changed", 1));
  const auto first = run_program(
      {"/bin/bash", "-c",
       fmt::format("timeout 240 '{}' attach {} --state-dir '{}' 2>&1 >/dev/null | grep --max-count=1 'train loss'",
                   binary(), id, jobs.daemon.state_dir())});
  CHECK_THAT(first.out, ContainsSubstring("/99000  train loss"));
}

TEST_CASE("interrupted, those that watch end with 0, and the job goes on") {
  Jobs jobs;
  const auto changes = jobs.daemon.room.path / "changes", epochs = jobs.daemon.room.path / "epochs";
  auto lines = jobs.follow_into(changes, "jobs --watch");
  const int job = jobs.submit(kLasting);
  auto attached = jobs.follow_into(epochs, "attach 1");
  REQUIRE(wait_for_text(changes, "job 1 running"));
  REQUIRE(wait_for_text(epochs, "train loss"));
  for (auto* program : {&attached, &lines}) program->send(SIGINT);
  CHECK(attached.wait().exit_code == 0);
  CHECK_THAT(contents_of(epochs), ContainsSubstring("job 1 keeps running"));
  CHECK(lines.wait().exit_code == 0);
  CHECK(contents_of(changes).find('\x1b') == std::string::npos);
  CHECK(jobs.daemon.job(job)["state"] == "running");
}

TEST_CASE("those that watch end once their reader has gone, though nothing changes") {
  const Jobs jobs;
  const auto job = jobs.daemon.tell(
      Words{"submit", jobs.config, "--hold", "--run-dir", jobs.daemon.room.run("held").string()} + kBrief);
  REQUIRE(job["state"] == "held");
  const auto in_shell = [](const std::string& line) { return run_program({"/bin/bash", "-c", line}); };
  const auto of = [&](const std::string& words) {
    return fmt::format("timeout 240 '{}' {} --state-dir '{}'", binary(), words, jobs.daemon.state_dir());
  };
  const auto first = in_shell(of("jobs --watch") + " | head -1; exit ${PIPESTATUS[0]}");
  CHECK(first.exit_code == 141);
  CHECK_THAT(first.out, ContainsSubstring("job 1 held"));
  const auto log = in_shell(with_reader_gone(of("logs -f 1")));
  CHECK(log.exit_code == 141);
  CHECK(log.err.empty());
}

TEST_CASE("the log is followed over a restart of the job, and of the daemon, until the job ends") {
  Jobs jobs;
  const int job = jobs.submit(sets({"device.threads=1", "epochs=100"}));
  auto log = jobs.follow({"logs", "-f", "1"});
  REQUIRE(jobs.wait_for_epoch(1));
  ::kill(jobs.trainer_of(job), SIGKILL);
  REQUIRE(comes_true([&] { return jobs.daemon.job(job)["attempts"] == 2; }));
  jobs.daemon.stop();
  jobs.daemon.start();
  const auto printed = log.wait();
  CHECK(printed.exit_code == 0);
  CHECK_THAT(printed.out, ContainsSubstring("done: 100 epochs"));
  CHECK(jobs.daemon.job(job)["attempts"] == 2);
}

TEST_CASE("several jobs are told at once, each whatever becomes of the others") {
  Jobs jobs;
  for (int i = 0; i < 3; ++i) jobs.submit(kBrief + Words{"--hold"});
  const auto held = jobs.daemon.ask({"job", "hold", "1", "2"});
  CHECK(held.exit_code == 2);
  const auto cancelled = jobs.daemon.ask({"job", "cancel", "1", "9", "3"});
  CHECK(cancelled.exit_code == 2);
  CHECK(json_of(cancelled)["jobs"].size() == 2);
  CHECK(json_of(cancelled)["errors"][0]["job"] == 9);
  CHECK(jobs.daemon.job(2)["state"] == "held");
  CHECK(jobs.daemon.job(3)["state"] == "cancelled");
  const auto newest = jobs.daemon.tell({"jobs", "--limit", "2"})["jobs"];
  REQUIRE(newest.size() == 2);
  CHECK(newest[1]["id"] == 3);
}

TEST_CASE("a job that is stopped while it is starting ends as it was asked to") {
  Jobs jobs;
  for (int i = 0; i < 4; ++i) {
    const int job = jobs.submit(kLasting);
    const std::string action = i % 2 == 0 ? "cancel" : "pause";
    jobs.daemon.tell({"job", action, std::to_string(job)});
    const auto state = jobs.daemon.job(job)["state"];
    if (state != "held") CHECK(jobs.daemon.wait_for_state(job, action == "cancel" ? "cancelled" : "paused"));
    CHECK(!jobs.daemon.is_alive(job));
    if (action == "pause") jobs.daemon.tell({"job", "cancel", std::to_string(job)});
  }
}

TEST_CASE("folders that are deleted: a job fails with the reason, and a retry begins again") {
  Jobs jobs;
  SECTION("the run folder of a paused job") {
    const int job = jobs.submit(kLasting);
    REQUIRE(jobs.wait_for_epoch(1));
    jobs.daemon.tell({"job", "pause", "1"});
    REQUIRE(jobs.daemon.wait_for_state(job, "paused"));
    fs::remove_all(jobs.run(1));
    jobs.daemon.tell({"job", "resume", "1"});
    REQUIRE(jobs.daemon.wait_for_state(job, "failed"));
    CHECK_THAT(jobs.daemon.job(job)["reason"].get<std::string>(), ContainsSubstring("esper job retry 1"));
    jobs.daemon.tell({"job", "edit", "1", "--priority", "1"});
    jobs.daemon.tell({"job", "retry", "1"});
    CHECK(jobs.wait_for_epoch(1));
    CHECK(jobs.daemon.job(job)["state"] == "running");
  }
  SECTION("the job's own folder while it runs") {
    const int job = jobs.submit(kLasting);
    REQUIRE(jobs.wait_for_epoch(1));
    fs::remove_all(jobs.daemon.state_dir() + "/jobs/000001");
    jobs.daemon.tell({"job", "cancel", "1"});
    CHECK(jobs.daemon.wait_for_state(job, "cancelled"));
  }
  SECTION("the folder that it was submitted from, while it waits") {
    const fs::path folder = jobs.daemon.room.path / "gone";
    fs::create_directories(folder);
    const auto before = fs::current_path();
    fs::current_path(folder);
    const int job = jobs.submit(kBrief + Words{"--hold"});
    fs::current_path(before);
    fs::remove_all(folder);
    jobs.daemon.tell({"job", "resume", "1"});
    REQUIRE(jobs.daemon.wait_for_state(job, "failed"));
    CHECK(jobs.daemon.job(job)["attempts"] == 1);
    CHECK(jobs.daemon.job(job)["reason"] != "");
  }
}

TEST_CASE("without a daemon each command says how to start one, with status 75") {
  const DaemonRoom daemon;
  for (const Words& words : {Words{"jobs"},
                             {"jobs", "--watch"},
                             {"job", "show", "1"},
                             {"job", "wait", "1"},
                             {"job", "cancel", "1", "2"},
                             {"job", "edit", "1", "--set", "epochs=2"},
                             {"job", "set", "1", "epochs=2"},
                             {"attach", "1"},
                             {"logs", "-f", "1"},
                             {"daemon", "audit"}}) {
    CAPTURE(words);
    const auto refused = daemon.ask(words);
    CHECK(refused.exit_code == 75);
    CHECK_THAT(refused.err, ContainsSubstring("esper daemon --state-dir"));
  }
}

TEST_CASE("a name that could steer the terminal is refused") {
  Jobs jobs;
  const auto refused = jobs.daemon.ask({"submit", jobs.config, "--name", "a\x1b[31m"});
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find('\x1b') == std::string::npos);
}

}  // namespace esper::test::job_commands_test
