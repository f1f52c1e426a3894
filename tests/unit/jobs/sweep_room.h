#pragma once
// Sweeps in a database of their own, and jobs that train and end as a test says.

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jobs/database/schema.h"
#include "jobs/job/job_actions.h"
#include "jobs/sweeps/sweeps.h"
#include "support/temporary_folder.h"

namespace esper::test::sweep_room {

using namespace esper::jobs;

inline const std::string kGrid =
    "name: rates\nconfig: run.yaml\nseeds: [1, 2]\nparameters: {training.optimizer.lr: [0.1, 0.2]}\n";
inline const std::string kHalving =
    "name: halved\nconfig: run.yaml\nmethod: halving\nsamples: 4\nhalving: {min_epochs: 1, factor: 2, max_epochs: 4}\n"
    "parameters: {training.optimizer.lr: {min: 0.1, max: 0.2}}\n";
inline const Asked kAsked{.at_ms = 1'700'000'000'000, .uid = 1000, .what = "submit sweep"};

struct SweepRoom {
  TemporaryFolder folder;
  JobStore jobs{open_database(folder / "jobs.db")};
  Sweeps sweeps{jobs};
  SweepStore store{jobs.database()};

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
    for (const Job& job : jobs.list({.states = {JobState::kQueued}})) ids.push_back(job.id);
    return ids;
  }
  Job started(JobId id) {
    Job job = *jobs.find(id);
    for (const JobState state : {JobState::kStarting, JobState::kRunning}) {
      job.state = state;
      jobs.save(job);
    }
    return job;
  }
  // As UnsettledEnds::settle(), after a training that came to this figure.
  void end(JobId id, double accuracy, JobState state = JobState::kSucceeded) {
    const Job job = started(id);
    write_summary(job, "done", job.epochs, accuracy);
    save_end(job, state);
  }
  static void write_summary(const Job& job, const char* status, std::int64_t epochs, double accuracy) {
    std::filesystem::create_directories(job.run_dir);
    const nlohmann::json summary{{"status", status}, {"epochs", epochs}, {"validation", {{"accuracy", accuracy}}}};
    std::ofstream(job.run_dir + "/summary.json") << summary.dump();
  }
  void save_end(Job job, JobState state = JobState::kSucceeded) {
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
  void pause(JobId id, JobState state) {
    Job job = *jobs.find(id);
    job.state = JobState::kStopping;
    job.purpose = StopPurpose::kPause;
    jobs.save(job);
    job.state = state;
    job.purpose = StopPurpose::kNone;
    sweeps.save_end(job, StopPurpose::kPause, {});
  }
  JobState state_of(JobId id) { return jobs.find(id)->state; }
};

}  // namespace esper::test::sweep_room
