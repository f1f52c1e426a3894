#include "jobs/sweeps/sweeps.h"

#include <fmt/core.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file_system.h"
#include "config/loading/load.h"
#include "jobs/database/schema.h"
#include "jobs/job/job_actions.h"
#include "support/faults/no_more_files.h"
#include "support/temporary_folder.h"

namespace esper::test::sweeps_test {

using namespace esper;
using namespace esper::jobs;
using Catch::Matchers::ContainsSubstring;

namespace {

using S = JobState;

const std::string kGrid =
    "name: rates\nconfig: run.yaml\nseeds: [1, 2]\nparameters: {training.optimizer.lr: [0.1, 0.2]}\n";
const std::string kHalving =
    "name: halved\nconfig: run.yaml\nmethod: halving\nsamples: 4\nhalving: {min_epochs: 1, factor: 2, max_epochs: 4}\n"
    "parameters: {training.optimizer.lr: {min: 0.1, max: 0.2}}\n";
const Asked kAsked{.at_ms = 1'700'000'000'000, .uid = 1000, .what = "submit sweep"};

struct SweepRoom {
  test::TemporaryFolder folder;
  JobStore jobs{open_database(folder / "jobs.db")};
  Sweeps sweeps{jobs};
  SweepStore stored{jobs.database()};

  SweepRecord submit(const std::string& text, SweepSubmission more = {}) {
    more.sweep = text;
    more.run_file = "epochs: 9\nhost: {kind: mlp}\n";
    more.folder = folder.path();
    more.runs_dir = folder / "runs";
    return sweeps.submit(more, kAsked);
  }
  std::vector<JobId> queued() {
    sweeps.drive(7);
    std::vector<JobId> ids;
    for (const Job& job : jobs.list({.states = {S::kQueued}})) ids.push_back(job.id);
    return ids;
  }
  Job started(JobId id) {
    Job job = *jobs.find(id);
    for (const S state : {S::kStarting, S::kRunning}) {
      job.state = state;
      jobs.save(job);
    }
    return job;
  }
  // As Queue::finish(), after a training that came to this figure.
  void end(JobId id, double accuracy, S state = S::kSucceeded) {
    const Job job = started(id);
    write_summary(job, "done", job.epochs, accuracy);
    save_end(job, state);
  }
  static void write_summary(const Job& job, const char* status, std::int64_t epochs, double accuracy) {
    std::filesystem::create_directories(job.run_dir);
    const nlohmann::json summary{{"status", status}, {"epochs", epochs}, {"validation", {{"accuracy", accuracy}}}};
    std::ofstream(job.run_dir + "/summary.json") << summary.dump();
  }
  void save_end(Job job, S state = S::kSucceeded) {
    job.state = state;
    job.ended_ms = 9;
    sweeps.save_end(job, StopPurpose::kNone, {});
  }
  // As Queue::act(), at the request of a user.
  void act(JobId id, JobAction action) {
    const auto job = after_action(*jobs.find(id), action, 8);
    REQUIRE(job);
    jobs.save(*job);
    sweeps.touch(job->sweep);
  }
  // A running job that its user pauses: it ends in this state.
  void pause(JobId id, S state) {
    Job job = *jobs.find(id);
    job.state = S::kStopping;
    job.purpose = StopPurpose::kPause;
    jobs.save(job);
    job.state = state;
    job.purpose = StopPurpose::kNone;
    sweeps.save_end(job, StopPurpose::kPause, {});
  }
  S state_of(JobId id) { return jobs.find(id)->state; }
};

}  // namespace

TEST_CASE("a sweep is expanded into jobs with names, run folders and run files of their own") {
  SweepRoom room;
  const auto sweep = room.submit(kGrid, {.priority = 3, .gpus = 1});
  CHECK(sweep.id == 1);
  CHECK(sweep.jobs == std::map<std::string, std::int64_t>{{"held", 4}});
  CHECK(room.queued() == std::vector<JobId>{1, 2, 3, 4});
  const Job job = *room.jobs.find(3);
  CHECK(job.name == "rates-1-seed-1");
  CHECK(job.run_dir == sweep.run_dir + "/0001-seed-1");
  CHECK(job.priority == 3);
  CHECK(job.needs.gpus == 1);
  CHECK(job.sweep == 1);
  CHECK(job.reason.empty());
  const auto config = config::read_run_config_text(room.sweeps.reader().run_file_of(job), "run.yaml");
  REQUIRE(config.problems.empty());
  CHECK(config.config.training.optimizer.lr == 0.2);
  CHECK(config.config.seed == 1);
  CHECK(config.config.epochs == 9);
}

TEST_CASE("results are stored with the ends of jobs, and the table has their means") {
  SweepRoom room;
  room.submit(kGrid);
  REQUIRE(room.queued().size() == 4);
  room.end(1, 0.5);
  CHECK(!room.sweeps.reader().best(1));
  room.end(2, 0.7);
  room.end(3, 0.8);
  room.end(4, 0.9);
  std::filesystem::remove_all(room.folder / "runs");
  const auto report = room.sweeps.reader().report(1);
  REQUIRE(report.summary.rows.size() == 2);
  CHECK(report.summary.rows[0].configuration == 1);
  CHECK(report.summary.rows[0].mean == (0.8 + 0.9) / 2);
  CHECK(report.summary.rows[1].mean == (0.5 + 0.7) / 2);
  CHECK(report.sweep.state == SweepState::kActive);
  room.sweeps.drive(77);
  CHECK(room.stored.find(1)->state == SweepState::kEnded);
  CHECK(room.stored.find(1)->ended_ms == 77);
  const auto best = room.sweeps.reader().best(1);
  REQUIRE(best);
  CHECK(best->configuration == 1);
  CHECK(config::read_run_config_text(best->config, "best").config.training.optimizer.lr == 0.2);
}

TEST_CASE("with halving a job is paused at its rung, goes on when it is among the best, and ends at the last") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued() == std::vector<JobId>{1, 2, 3, 4});
  CHECK(room.jobs.find(1)->epochs == 1);
  room.end(1, 0.5);
  room.end(2, 0.6);
  CHECK(room.state_of(1) == S::kPaused);
  CHECK(room.jobs.find(1)->ended_ms == 0);
  CHECK(room.queued() == std::vector<JobId>{2, 3, 4});
  CHECK(room.jobs.find(2)->epochs == 2);
  room.end(3, 0.9);
  room.end(4, 0.1);
  CHECK(room.queued() == std::vector<JobId>{2, 3});
  room.end(2, 0.7);
  room.end(3, 0.95);
  CHECK(room.queued() == std::vector<JobId>{3});
  CHECK(room.jobs.find(3)->epochs == 4);
  CHECK(room.stored.find(1)->state == SweepState::kActive);
  room.end(3, 0.97);
  CHECK(room.queued().empty());
  CHECK(room.stored.find(1)->state == SweepState::kEnded);
  CHECK(room.state_of(3) == S::kSucceeded);
  for (const JobId id : {1, 2, 4}) CHECK(room.state_of(id) == S::kPaused);
  const auto summary = room.sweeps.reader().report(1).summary;
  CHECK(summary.rows[0].configuration == 2);
  CHECK(summary.rows[0].epochs == 4);
  CHECK(summary.rows[0].mean == 0.97);
  CHECK(summary.rows[1].epochs == 2);
}

TEST_CASE("a daemon that is killed after a result is stored decides when it comes back, and once") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  room.end(1, 0.5);
  room.end(2, 0.6);
  Sweeps next(room.jobs);
  CHECK(next.drive(7).empty());
  next.recover();
  const auto changed = next.drive(7);
  REQUIRE(changed.size() == 1);
  CHECK(changed[0].id == 2);
  CHECK(changed[0].epochs == 2);
  next.recover();
  CHECK(next.drive(7).empty());
}

TEST_CASE("the result of a rung is of its own epochs, whatever summary an earlier process left") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  for (const JobId id : {1, 2, 3, 4}) room.end(id, id == 2 ? 0.6 : 0.1 * static_cast<double>(id));
  REQUIRE(room.queued().front() == 2);
  const Job job = room.started(2);
  REQUIRE(job.epochs == 2);
  const auto result = [&] {
    room.save_end(job);
    const auto results = TrialStore(room.jobs.database()).find(2)->results;
    REQUIRE(results.size() == 2);
    return results[1];
  };
  SECTION("nothing is of this rung") { CHECK(std::isnan(result())); }
  SECTION("the process before was interrupted") {
    room.write_summary(job, "interrupted", 2, 0.65);
    CHECK(std::isnan(result()));
  }
  SECTION("it stopped early") {
    room.write_summary(job, "early_stopped", 1, 0.65);
    CHECK(result() == 0.65);
  }
  SECTION("it was set to more epochs") {
    room.write_summary(job, "done", 3, 0.65);
    CHECK(result() == 0.65);
  }
  SECTION("it cannot be read now") {
    room.write_summary(job, "done", 2, 0.65);
    {
      const test::NoMoreFiles none;
      CHECK_THROWS_AS(room.save_end(job), base::IoError);
    }
    CHECK(room.state_of(2) == S::kRunning);
    CHECK(result() == 0.65);
  }
  SECTION("the newest checkpoint is") {
    for (const int epoch : {1, 2}) {
      const std::string checkpoint =
          fmt::format("{}/checkpoints/epoch-{:04}-step-{:09}", job.run_dir, epoch, 10 * epoch);
      std::filesystem::create_directories(checkpoint);
      const nlohmann::json validation{{"by_metric", {{"accuracy", 0.5 + 0.1 * epoch}}}};
      const nlohmann::json progress{{"epoch", epoch}, {"validation", validation}};
      std::ofstream(checkpoint + "/run.json") << nlohmann::json{{"progress", progress}}.dump();
    }
    CHECK(result() == 0.5 + 0.1 * 2);
  }
}

TEST_CASE("a sweep of which a row was lost does not go on, and others do") {
  SweepRoom room;
  room.submit(kHalving);
  const auto lose = [&](const std::string& row) { room.jobs.database().run("DELETE FROM " + row); };
  SECTION("of a job's place") {
    lose("trials WHERE job = 2");
    CHECK_THROWS_AS(room.sweeps.reader().run_file_of(*room.jobs.find(2)), base::ConfigError);
  }
  SECTION("of a job") { lose("jobs WHERE id = 2"); }
  CHECK_THROWS_AS(room.sweeps.reader().report(1), base::ConfigError);
  room.submit(kGrid);
  CHECK(room.queued() == std::vector<JobId>{5, 6, 7, 8});
}

TEST_CASE("jobs whose sweep was lost are counted in no other, and have no run file") {
  SweepRoom room;
  for (int count = 0; count < 3; ++count) room.submit(kGrid);
  room.jobs.database().run("PRAGMA foreign_keys = OFF");
  room.jobs.database().run("DELETE FROM sweeps WHERE id = 2");
  const auto listed = room.stored.list(1000);
  REQUIRE(listed.size() == 2);
  for (const auto& sweep : listed) CHECK(sweep.jobs == std::map<std::string, std::int64_t>{{"held", 4}});
  Sweeps next(room.jobs);
  CHECK_THROWS_AS(next.reader().run_file_of(*room.jobs.find(5)), base::ConfigError);
}

TEST_CASE("a run without a figure is the worst of all") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  room.end(1, 0.5);
  Job job = room.started(2);
  job.state = S::kSucceeded;
  room.sweeps.save_end(job, StopPurpose::kNone, {});
  CHECK(room.queued() == std::vector<JobId>{1, 3, 4});
  CHECK(room.state_of(2) == S::kPaused);
}

TEST_CASE("what a sweep leaves paused says so when it has ended, and trains to the last rung if its user resumes it") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  room.end(1, 0.5);
  room.end(2, 0.6);
  room.end(3, 0.9);
  room.end(4, 0.1);
  REQUIRE(room.queued() == std::vector<JobId>{2, 3});
  room.end(2, 0.7);
  room.end(3, 0.95);
  REQUIRE(room.queued() == std::vector<JobId>{3});
  CHECK(room.jobs.find(1)->ended_ms == 0);
  room.end(3, 0.97);
  CHECK(room.sweeps.drive(7).size() == 3);
  REQUIRE(room.stored.find(1)->state == SweepState::kEnded);
  for (const JobId id : {1, 2, 4}) {
    CHECK(room.state_of(id) == S::kPaused);
    CHECK(room.jobs.find(id)->ended_ms == 7);
  }
  CHECK(room.jobs.find(2)->reason ==
        "trained to epoch 2; its sweep has ended without it: esper job resume 2 trains it on");
  room.sweeps.touch(1);
  CHECK(room.sweeps.drive(8).empty());

  room.act(1, JobAction::kResume);
  SECTION("the daemon goes on") {}
  SECTION("the daemon is killed before its sweep has seen that") {
    Sweeps next(room.jobs);
    next.recover();
    CHECK(next.drive(7).size() == 1);
  }
  CHECK(room.queued() == std::vector<JobId>{1});
  CHECK(room.jobs.find(1)->epochs == 4);
  CHECK(room.jobs.find(1)->ended_ms == 0);
  CHECK(room.stored.find(1)->state == SweepState::kActive);
  room.end(1, 0.99);
  CHECK(room.state_of(1) == S::kSucceeded);
  CHECK(room.queued().empty());
  CHECK(room.stored.find(1)->state == SweepState::kEnded);
  const auto summary = room.sweeps.reader().report(1).summary;
  CHECK(summary.rows[0].configuration == 2);
  CHECK(summary.rows[0].mean == 0.97);

  REQUIRE(room.sweeps.cancel(1, kAsked));
  for (const JobId id : {2, 4}) CHECK(room.state_of(id) == S::kCancelled);
  CHECK(room.state_of(3) == S::kSucceeded);
  CHECK(!room.sweeps.cancel(1, kAsked));
}

TEST_CASE("a job of a cancelled sweep that is retried stays at its rung, and trains on if its user resumes it") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  REQUIRE(room.sweeps.cancel(1, kAsked));
  room.act(1, JobAction::kRetry);
  REQUIRE(room.queued() == std::vector<JobId>{1});
  room.end(1, 0.5);
  CHECK(room.state_of(1) == S::kPaused);
  CHECK(room.jobs.find(1)->ended_ms == 9);
  CHECK_THAT(room.jobs.find(1)->reason, ContainsSubstring("its sweep was cancelled: esper job resume 1"));
  room.act(1, JobAction::kResume);
  CHECK(room.queued() == std::vector<JobId>{1});
  CHECK(room.jobs.find(1)->epochs == 4);
  room.end(1, 0.6);
  CHECK(room.state_of(1) == S::kSucceeded);
  CHECK(room.stored.find(1)->state == SweepState::kCancelled);
}

TEST_CASE("a job that its user paused as it reached its rung is not continued by its sweep") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  room.end(1, 0.5);
  room.started(2);
  room.pause(2, S::kSucceeded);
  CHECK(room.state_of(2) == S::kPaused);
  CHECK(room.jobs.find(2)->reason == "trained to epoch 1; paused by the user");
  room.end(3, 0.1);
  room.end(4, 0.2);
  CHECK(room.queued() == std::vector<JobId>{1});
  CHECK(room.jobs.find(2)->ended_ms == 0);
  room.act(2, JobAction::kResume);
  CHECK(room.queued() == std::vector<JobId>{1, 2});
  CHECK(room.jobs.find(2)->epochs == 1);
  room.end(2, 0.9);
  CHECK(room.queued() == std::vector<JobId>{1, 2});
  CHECK(room.jobs.find(2)->epochs == 2);
}

TEST_CASE("a job that its user resumed at its rung and paused again is not continued by its sweep") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  room.end(1, 0.5);
  room.act(1, JobAction::kResume);
  SECTION("while it ran") {
    REQUIRE(room.queued().size() == 4);
    room.started(1);
    room.pause(1, S::kPaused);
  }
  SECTION("before it ran") { room.act(1, JobAction::kHold); }
  room.end(2, 0.1);
  room.end(3, 0.2);
  CHECK(room.queued() == std::vector<JobId>{3, 4});
  CHECK(room.jobs.find(3)->epochs == 2);
  CHECK((room.state_of(1) == S::kPaused || room.state_of(1) == S::kHeld));
}

TEST_CASE("a job that its user let begin and held again is not begun by its sweep") {
  SweepRoom room;
  room.submit(kHalving + "max_running: 1\n");
  REQUIRE(room.queued() == std::vector<JobId>{1});
  room.act(3, JobAction::kResume);
  CHECK(room.queued() == std::vector<JobId>{1, 3});
  room.act(3, JobAction::kHold);
  room.end(1, 0.5);
  CHECK(room.queued() == std::vector<JobId>{2});
  room.end(2, 0.6);
  CHECK(room.queued() == std::vector<JobId>{2});
  room.end(2, 0.7);
  CHECK(room.queued() == std::vector<JobId>{4});
  room.end(4, 0.1);
  CHECK(room.queued().empty());
  CHECK(room.state_of(3) == S::kHeld);
  CHECK(room.stored.find(1)->state == SweepState::kActive);
  room.act(3, JobAction::kResume);
  CHECK(room.queued() == std::vector<JobId>{3});
}

TEST_CASE("the audit log says who let jobs begin, and who cancelled them") {
  SweepRoom room;
  room.submit(kGrid + "max_running: 1\n");
  room.sweeps.drive(7);
  REQUIRE(room.sweeps.cancel(1, {.at_ms = 9, .uid = 1001, .what = "cancel sweep"}));
  int begun = 0, cancelled = 0;
  for (const AuditLine& line : read_audit(room.jobs.database(), 0, 100)) {
    if (!line.job) continue;
    if (line.state == "queued") {
      CHECK(line.what == "daemon");
      CHECK(line.uid == static_cast<std::int64_t>(::getuid()));
      ++begun;
    } else {
      CHECK(line.what == "cancel sweep");
      CHECK(line.uid == 1001);
      ++cancelled;
    }
  }
  CHECK(begun == 1);
  CHECK(cancelled == 4);
}

TEST_CASE("the newest sweeps are listed, each with the numbers of its jobs") {
  SweepRoom room;
  for (int count = 0; count < 3; ++count) room.submit(kGrid, {.hold = true});
  REQUIRE(room.sweeps.cancel(2, kAsked));
  CHECK(room.stored.list(1000).size() == 3);
  const auto listed = room.stored.list(2);
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].id == 2);
  CHECK(listed[0].jobs == std::map<std::string, std::int64_t>{{"cancelled", 4}});
  CHECK(listed[1].id == 3);
  CHECK(listed[1].jobs == std::map<std::string, std::int64_t>{{"held", 4}});
}

TEST_CASE("a job that was stopped for good at its rung is cancelled, and its result is kept") {
  SweepRoom room;
  room.submit(kHalving);
  REQUIRE(room.queued().size() == 4);
  Job job = room.started(1);
  job.state = S::kStopping;
  job.purpose = StopPurpose::kCancel;
  room.jobs.save(job);
  job.state = S::kSucceeded;
  room.sweeps.save_end(job, StopPurpose::kCancel, {});
  CHECK(room.state_of(1) == S::kCancelled);
}

TEST_CASE("the same token is the same sweep") {
  SweepRoom room;
  CHECK(room.submit(kGrid, {.token = "a"}).id == 1);
  CHECK(room.submit(kGrid, {.token = "a"}).id == 1);
  CHECK(room.jobs.list({}).size() == 4);
  const auto other = room.submit(kGrid, {.token = "b"});
  CHECK(other.id == 2);
}

TEST_CASE("each sweep has a folder of its own for its runs, whatever else has its name") {
  SweepRoom room;
  const auto first = room.submit(kGrid);
  CHECK(room.submit(kGrid).run_dir == first.run_dir + "-2");
  std::filesystem::create_directories(first.run_dir + "-3");
  CHECK(room.submit(kGrid).run_dir == first.run_dir + "-4");
}

TEST_CASE("cancelling a sweep cancels what waits and stops what runs") {
  SweepRoom room;
  room.submit(kGrid + "max_running: 2\n");
  REQUIRE(room.queued() == std::vector<JobId>{1, 2});
  room.started(1);
  REQUIRE(room.sweeps.cancel(1, kAsked));
  CHECK(room.state_of(1) == S::kStopping);
  CHECK(room.jobs.find(1)->purpose == StopPurpose::kCancel);
  for (const JobId id : {2, 3, 4}) CHECK(room.state_of(id) == S::kCancelled);
  CHECK(room.sweeps.drive(7).size() == 4);
  CHECK(room.stored.find(1)->state == SweepState::kCancelled);
  CHECK(!room.sweeps.cancel(1, kAsked));
  CHECK(!room.sweeps.cancel(2, kAsked));
}

TEST_CASE("a sweep that is held begins when its user lets it") {
  SweepRoom room;
  room.submit(kGrid, {.hold = true});
  CHECK(room.queued().empty());
  REQUIRE(room.sweeps.resume(1, kAsked));
  CHECK(room.queued().size() == 4);
  CHECK(!room.sweeps.resume(1, kAsked));
}

TEST_CASE("the jobs of a new sweep are reported once, also those that do not begin") {
  SweepRoom room;
  room.submit(kGrid, {.hold = true});
  const auto held = room.sweeps.drive(7);
  CHECK(held.size() == 4);
  for (const Job& job : held) CHECK(job.state == S::kHeld);
  CHECK(room.sweeps.drive(7).empty());
  REQUIRE(room.sweeps.resume(1, kAsked));
  CHECK(room.sweeps.drive(7).size() == 4);
  room.submit(kGrid + "max_running: 1\n");
  const auto made = room.sweeps.drive(7);
  REQUIRE(made.size() == 4);
  CHECK(made[0].state == S::kQueued);
  CHECK(made[1].state == S::kHeld);
}

TEST_CASE("a job that is retried makes its sweep active again") {
  SweepRoom room;
  room.submit("config: run.yaml\nparameters: {training.optimizer.lr: [0.1]}\n");
  REQUIRE(room.queued().size() == 1);
  room.end(1, 0, S::kFailed);
  room.sweeps.drive(7);
  CHECK(room.stored.find(1)->state == SweepState::kEnded);
  Job job = *room.jobs.find(1);
  job.state = S::kQueued;
  room.jobs.save(job);
  room.sweeps.touch(1);
  room.sweeps.drive(7);
  CHECK(room.stored.find(1)->state == SweepState::kActive);
  CHECK(room.stored.find(1)->ended_ms == 0);
}

TEST_CASE("a sweep of ten thousand jobs is stored and read") {
  SweepRoom room;
  std::string text = "config: run.yaml\nmax_running: 3\nseeds: 1..10\nparameters:\n  training.optimizer.lr: [";
  for (int value = 1; value <= 1000; ++value) text += (value == 1 ? "0." : ", 0.") + std::to_string(1000 + value);
  const auto sweep = room.submit(text + "]\n");
  CHECK(sweep.jobs.at("held") == 10'000);
  CHECK(room.queued() == std::vector<JobId>{1, 2, 3});
  CHECK(room.sweeps.reader().report(1).summary.rows.size() == 1000);
}

}  // namespace esper::test::sweeps_test
