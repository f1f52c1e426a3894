#include "jobs/queue/queue.h"

#include <fmt/core.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "history/growth/checkpoint_list.h"
#include "jobs/database/schema.h"
#include "support/faults/no_more_files.h"
#include "support/temporary_folder.h"

namespace esper::test::queue_test {

using namespace esper::jobs;
using Catch::Matchers::ContainsSubstring;

namespace {

// A queue whose loop runs only what is due: no job begins in it unless `run` is called.
struct SmallQueue {
  TemporaryFolder folder;
  boost::asio::io_context loop;
  JobStore store{open_database(folder / "jobs.db")};
  Sweeps sweeps{store};
  QueueSetup setup{
      .attempts = {folder / "jobs", "/bin/false", std::chrono::seconds(1), 1 << 20}, .restarts = {}, .scheduler = {}};
  Queue queue{loop, store, sweeps, setup, [](const Job&) {}};

  Job submit(const std::string& run_dir = "", const std::vector<JobId>& after = {}) {
    Submission submission{.name = "digits", .config = "seed: 1\nepochs: 3\n", .folder = "/", .run_dir = run_dir};
    submission.runs_dir = folder / "runs";
    submission.after = after;
    submission.hold = true;
    const auto made = queue.submit(submission, 7);
    REQUIRE(made);
    return made->front();
  }
  // As another daemon left it.
  void put(Job job, JobState state) {
    for (const JobState next : {JobState::kQueued, JobState::kStarting, JobState::kRunning, state}) {
      job.state = next;
      if (next == JobState::kStarting) ++job.attempts;
      store.save(job);
      if (next == state) return;
    }
  }
  void run() {
    loop.restart();
    loop.poll();
  }
  JobState state_of(JobId id) { return store.find(id)->state; }
};

SweepSubmission two_trials(const SmallQueue& room) {
  SweepSubmission submission;
  submission.sweep = "name: rates\nconfig: run.yaml\nparameters: {training.optimizer.lr: [0.1, 0.2]}\n";
  submission.run_file = "epochs: 9\nhost: {kind: mlp}\n";
  submission.folder = room.folder.path();
  submission.runs_dir = room.folder / "runs";
  return submission;
}

}  // namespace

TEST_CASE("a run folder is one text, however it is written, and one unfinished job's") {
  SmallQueue room;
  const std::string run = room.folder / "run";
  CHECK(room.submit(run + "/./").run_dir == run);
  Submission second{.name = "second", .config = "seed: 1\n", .folder = "/", .run_dir = run + "//"};
  const auto made = room.queue.submit(second, 7);
  REQUIRE_FALSE(made);
  CHECK_THAT(made.error(), ContainsSubstring("is the run folder of job 1, which has not ended"));
}

TEST_CASE("a job is not retried in a run folder that a later job has trained in") {
  SmallQueue room;
  const std::string run = room.folder / "run";
  room.put(room.submit(run), JobState::kFailed);
  room.put(room.submit(run), JobState::kSucceeded);
  const auto retried = room.queue.act(1, JobAction::kRetry, 7);
  REQUIRE_FALSE(retried);
  CHECK(retried.error() == "its run folder " + run + " belongs to job 2 now");
  CHECK(room.state_of(1) == JobState::kFailed);
}

TEST_CASE("a submission that is repeated is the same job, also where it would not be admitted any more") {
  SmallQueue room;
  Submission submission{.name = "digits", .config = "seed: 1\n", .folder = "/", .runs_dir = "/nowhere"};
  submission.hold = true;
  submission.token = "one";
  REQUIRE(room.queue.submit(submission, 7));
  submission.needs.gpus = 64;
  const auto repeated = room.queue.submit(submission, 7);
  REQUIRE(repeated);
  CHECK(repeated->front().id == 1);
  submission.token = "two";
  CHECK_FALSE(room.queue.submit(submission, 7));
}

TEST_CASE("an active job is not changed to what can never begin again here") {
  SmallQueue room;
  room.put(room.submit(), JobState::kRunning);
  JobChange change;
  change.gpus = 64;
  const auto edited = room.queue.edit(1, change, 7);
  REQUIRE_FALSE(edited);
  CHECK_THAT(edited.error(), ContainsSubstring("64"));
  CHECK(room.store.find(1)->needs.gpus == 0);
}

TEST_CASE("a job whose folder cannot be used when the daemon starts stays as it is, until it can") {
  SmallQueue room;
  room.put(room.submit(), JobState::kRunning);
  std::filesystem::create_directories(room.folder / "jobs");
  std::ofstream(room.folder / "jobs/000001") << "no folder";
  room.queue.recover();
  room.run();
  CHECK(room.state_of(1) == JobState::kRunning);
  // The user's wish is kept for then.
  REQUIRE(room.queue.act(1, JobAction::kCancel, 7));
  room.run();
  CHECK(room.state_of(1) == JobState::kStopping);
  std::filesystem::remove(room.folder / "jobs/000001");
  room.queue.schedule();
  room.run();
  CHECK(room.state_of(1) == JobState::kCancelled);
}

TEST_CASE("a job that waits for others names those that have not ended, and the one that did not succeed") {
  SmallQueue room;
  room.submit();
  room.submit();
  room.submit("", {1, 2});
  REQUIRE(room.queue.act(3, JobAction::kResume, 7));
  CHECK(room.queue.waiting_reason(*room.store.find(3)) == "waits for jobs 1, 2 to succeed");
  room.put(*room.store.find(1), JobState::kSucceeded);
  CHECK(room.queue.waiting_reason(*room.store.find(3)) == "waits for job 2 to succeed");
  REQUIRE(room.queue.act(2, JobAction::kCancel, 7));
  room.run();
  CHECK(room.state_of(3) == JobState::kFailed);
  CHECK(room.store.find(3)->reason == "comes after a job that did not succeed: 2");
}

TEST_CASE("a start that fails is tried again later each time") {
  SmallQueue room;
  const JobFolder folder{room.folder / "jobs/000001"};
  std::filesystem::create_directories(folder.path);
  const auto held = try_lock(folder);
  room.submit();
  REQUIRE(room.queue.act(1, JobAction::kResume, 7));
  room.run();
  CHECK(room.state_of(1) == JobState::kQueued);
  CHECK_THAT(room.queue.waiting_reason(*room.store.find(1)),
             ContainsSubstring("waits before it is started again; could not be started: "));
  CHECK(room.store.find(1)->attempts == 1);
  for (int i = 0; i < 5; ++i) room.queue.schedule(), room.run();
  CHECK(room.store.find(1)->attempts == 1);
  room.loop.restart();
  room.loop.run_for(std::chrono::milliseconds(2700));  // after one second, and then after two more
  CHECK(room.store.find(1)->attempts == 2);
}

TEST_CASE("the newest checkpoint is the one of the latest epoch, of however many digits") {
  SmallQueue room;
  const std::string run = room.folder / "run";
  room.put(room.submit(run), JobState::kRunning);
  const std::string newest = history::checkpoint_name(10'000, 100'000);
  for (const auto& name : {history::checkpoint_name(9'999, 99'990), newest, newest + ".partial"})
    std::filesystem::create_directories(run + "/checkpoints/" + name);
  room.queue.recover();
  room.run();
  CHECK(room.store.find(1)->checkpoint == newest);
}

TEST_CASE("a job whose run file was lost from the database fails, and the daemon goes on") {
  SmallQueue room;
  room.submit();
  room.store.database().run("DELETE FROM configs");
  REQUIRE(room.queue.act(1, JobAction::kResume, 7));
  room.run();
  CHECK(room.state_of(1) == JobState::kFailed);
  CHECK_THAT(room.store.find(1)->reason, ContainsSubstring("the run file of job 1 is missing"));
}

TEST_CASE("a trainer that its shim could not start for lack of memory is started again") {
  SmallQueue room;
  const JobFolder folder{room.folder / "jobs/000001"};
  std::filesystem::create_directories(folder.path);
  room.put(room.submit(), JobState::kRunning);
  write_record(folder.exit(),
               esper::base::to_json(ExitRecord{.attempt = 1, .problem = "cannot start esper", .error = ENOMEM}));
  SECTION("the daemon saw it begin") {}
  SECTION("the daemon ended before") {
    Job job = *room.store.find(1);
    job.state = JobState::kQueued;
    room.store.save(job);
    job.state = JobState::kStarting;
    room.store.save(job);
  }
  room.queue.recover();
  room.run();
  CHECK(room.state_of(1) == JobState::kQueued);
  CHECK(room.queue.waiting_reason(*room.store.find(1)) ==
        "waits before it is started again; could not be started: cannot start esper");
  CHECK(room.store.find(1)->interruptions == 0);
}

TEST_CASE("a start that fails for what may stay is tried only so often, any other until it succeeds") {
  SmallQueue room;
  QueueSetup setup = room.setup;
  setup.restarts.most_failed_starts = 3;
  Queue queue{room.loop, room.store, room.sweeps, setup, [](const Job&) {}};
  const auto [error, is_bounded] = GENERATE(table<int, bool>({{EACCES, true}, {ENOENT, true}, {ENOMEM, false}}));
  CAPTURE(error);
  const JobFolder folder{room.folder / "jobs/000001"};
  std::filesystem::create_directories(folder.path);
  room.put(room.submit(), JobState::kRunning);
  for (std::int64_t attempt = 1; attempt <= 3; ++attempt) {
    write_record(folder.exit(),
                 esper::base::to_json(ExitRecord{.attempt = attempt, .problem = "cannot start esper", .error = error}));
    queue.recover();
    room.run();
    Job job = *room.store.find(1);
    if (attempt == 3 && is_bounded) {
      CHECK(job.state == JobState::kFailed);
      CHECK(job.reason == "could not be started 3 times in a row: cannot start esper");
      continue;
    }
    REQUIRE(job.state == JobState::kQueued);
    ++job.attempts;
    for (const JobState next : {JobState::kStarting, JobState::kRunning}) {
      job.state = next;
      room.store.save(job);
    }
  }
}

TEST_CASE("a trial whose result cannot be read now ends when it can, and keeps no other job from ending") {
  SmallQueue room;
  auto submission = two_trials(room);
  submission.hold = true;
  room.sweeps.submit(submission, {.uid = 7, .what = "submit sweep"});
  const Job other = room.submit();
  for (const JobId id : {JobId{1}, other.id}) {
    room.put(*room.store.find(id), JobState::kRunning);
    const JobFolder folder{room.folder / fmt::format("jobs/{:06}", id)};
    std::filesystem::create_directories(folder.path);
    write_record(folder.exit(), esper::base::to_json(ExitRecord{.attempt = 1, .exit_code = 0}));
  }
  const std::string run = room.store.find(1)->run_dir;
  std::filesystem::create_directories(run);
  std::ofstream(run + "/summary.json") << R"({"status": "done", "epochs": 9, "validation": {"accuracy": 0.75}})";
  room.queue.recover();
  {
    const NoMoreFiles none;
    room.run();
    CHECK(room.state_of(1) == JobState::kRunning);
    CHECK(room.state_of(other.id) == JobState::kSucceeded);
  }
  room.queue.schedule();
  room.run();
  CHECK(room.state_of(1) == JobState::kSucceeded);
  CHECK(TrialStore(room.store.database()).find(1)->results == std::vector{0.75});
}

TEST_CASE("a job after a trial fails as soon as the trial's sweep is cancelled") {
  SmallQueue room;
  auto submission = two_trials(room);
  submission.hold = true;
  const auto sweep = room.sweeps.submit(submission, {.uid = 7, .what = "submit sweep"});
  const Job later = room.submit("", {1});
  REQUIRE(room.queue.act(later.id, JobAction::kResume, 7));
  room.run();
  CHECK(room.state_of(later.id) == JobState::kQueued);
  REQUIRE(room.sweeps.cancel(sweep.id, {.uid = 7, .what = "cancel sweep"}));
  room.queue.schedule();
  room.run();
  CHECK(room.state_of(1) == JobState::kCancelled);
  CHECK(room.state_of(later.id) == JobState::kFailed);
}

TEST_CASE("a trial that needs more than a daemon has waits, rather than fail, and can begin with the next daemon") {
  SmallQueue room;
  auto submission = two_trials(room);
  submission.run_file += "device: {kind: cuda}\n";
  room.sweeps.submit(submission, {.uid = 7, .what = "submit sweep"});
  QueueSetup small = room.setup;
  small.scheduler.machine.gpus.emplace();
  Queue queue{room.loop, room.store, room.sweeps, small, [](const Job&) {}};
  queue.schedule();
  room.run();
  CHECK(room.state_of(1) == JobState::kQueued);
  CHECK_THAT(queue.waiting_reason(*room.store.find(1)), ContainsSubstring("cannot begin here: GPUs: it needs 1"));
}

TEST_CASE("a trial that needs more than a GPU has waits, unless its sweep says how many GPUs it needs") {
  SmallQueue room;
  QueueSetup small = room.setup;
  small.scheduler.machine.nvml = FAKE_NVML;
  small.scheduler.machine.gpus = std::vector<std::int64_t>{0};
  small.scheduler.machine.kept_back.gpu_bytes = std::int64_t{7} << 30;        // of 8
  Queue queue{room.loop, room.store, room.sweeps, small, [](const Job&) {}};  // nothing of the GPU is free
  auto submission = two_trials(room);
  submission.run_file += "device: {kind: cuda}\n";
  const auto look = [&] {
    room.sweeps.submit(submission, {.uid = 7, .what = "submit sweep"});
    queue.schedule();
    room.run();
  };
  SECTION("it does not") {
    look();
    CHECK(room.store.find(1)->attempts == 0);
    CHECK_THAT(queue.waiting_reason(*room.store.find(1)),
               ContainsSubstring("cannot begin here: GPU memory: the run is forecast to take 1"));
    // The one GPU follows from the run file: that it is enough was not said.
    const auto edited = queue.edit(1, {.memory_bytes = std::int64_t{1} << 30}, 7);
    REQUIRE_FALSE(edited);
    CHECK_THAT(edited.error(), ContainsSubstring("it can never start on this machine: GPU memory"));
    CHECK(room.store.find(1)->needs.memory_bytes == 0);
    CHECK(queue.edit(1, {.gpus = 1}, 7));
    CHECK(queue.edit(1, {.memory_bytes = std::int64_t{1} << 30}, 7));
    room.run();
    CHECK(room.store.find(1)->needs.memory_bytes == std::int64_t{1} << 30);
    CHECK(room.store.find(1)->forecast.device_memory.bytes == std::int64_t{1} << 30);
    CHECK_THAT(queue.waiting_reason(*room.store.find(1)), !ContainsSubstring("cannot begin here"));
  }
  SECTION("it does") {
    submission.gpus = 1;
    look();
    CHECK_THAT(queue.waiting_reason(*room.store.find(1)), !ContainsSubstring("cannot begin here"));
  }
}

TEST_CASE("jobs that need more than a daemon has hide none behind them, however many they are") {
  SmallQueue room;
  Submission large{.name = "large", .config = "seed: 1\n", .folder = "/", .runs_dir = room.folder / "runs"};
  large.needs.memory_bytes = std::int64_t{1} << 50;
  large.forecast.parameters = 1;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) large.seeds.push_back(seed);
  REQUIRE(room.store.submit(large, {.uid = 7, .what = "submit"}));
  const Job small = room.submit();
  const JobFolder folder{room.folder / "jobs/000601"};
  std::filesystem::create_directories(folder.path);
  const auto held = try_lock(folder);  // no process is started
  REQUIRE(room.queue.act(small.id, JobAction::kResume, 7));
  room.run();
  CHECK(room.store.find(small.id)->attempts == 1);
  for (const JobId id : {1, 600})
    CHECK_THAT(room.queue.waiting_reason(*room.store.find(id)), ContainsSubstring("cannot begin here: memory"));
}

TEST_CASE("jobs of a new database do not get the numbers of folders that are there") {
  SmallQueue room;
  const std::string jobs = room.folder / "jobs";
  CHECK(highest_job_in(jobs) == 0);
  for (const char* name : {"000007", "000012", "notes", "13x"}) std::filesystem::create_directories(jobs + "/" + name);
  CHECK(highest_job_in(jobs) == 12);
  std::ofstream(jobs + "/000013") << "no folder of jobs";
  CHECK_THROWS_AS(highest_job_in(jobs + "/000013"), base::IoError);  // nobody knows what it had
  room.store.begin_after(12);
  CHECK(room.submit().id == 13);
  room.store.begin_after(2);
  CHECK(room.submit().id == 14);
}

}  // namespace esper::test::queue_test
