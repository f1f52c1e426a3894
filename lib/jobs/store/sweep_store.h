#pragma once
// The sweeps in the database, and what their jobs are in them. As JobStore: nothing is kept in memory, one thread,
// methods throw DatabaseError. Methods that write belong within the caller's Transaction where it has one.

#include <optional>
#include <string>
#include <vector>

#include "jobs/job/sweep_record.h"
#include "jobs/store/job_store.h"

namespace esper::jobs {

class SweepStore {
 public:
  // In the same database.
  explicit SweepStore(JobStore& jobs) : jobs_(jobs), database_(jobs.database()) {}

  // With its texts, token and uid; its jobs are added one by one.
  SweepId insert(const SweepRecord& sweep, const SweepSubmission& submission);
  // turn and rung, for a job that exists.
  void add_trial(SweepId sweep, const SweepTrial& trial);
  std::optional<SweepRecord> find(SweepId id);
  // That was submitted with this token, which is not empty.
  std::optional<SweepRecord> find_token(const std::string& token);
  bool has_run_dir(const std::string& run_dir);
  // In the order of their ids.
  std::vector<SweepRecord> list();
  std::vector<SweepId> active();

  struct Texts {
    std::string sweep, run_file;
  };
  Texts texts_of(SweepId id);
  // Of every job, configuration by configuration and seed by seed.
  std::vector<SweepTrial> trials_of(SweepId id);
  std::optional<SweepTrial> trial_of(JobId job);

  void save_state(SweepId id, SweepState state, std::int64_t ended_ms);
  // What the trial reached at its rung; replaces what is there.
  void save_result(const SweepTrial& trial, double value);
  void make_due(const std::vector<SweepStep>& steps);
  // Queues those that are held or paused: these are returned. Their turn has begun, as that of the others has.
  std::vector<JobId> begin(const std::vector<JobId>& jobs);
  // Jobs that wait are cancelled, those that run are to stop. All that are changed.
  std::vector<JobId> cancel_jobs(SweepId id, std::int64_t at_ms);

 private:
  SweepRecord record_of(const Statement& row);
  std::vector<SweepTrial> read_trials(Statement& rows);

  JobStore& jobs_;
  Database& database_;
};

}  // namespace esper::jobs
