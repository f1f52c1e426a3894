#pragma once
// The sweeps in the database, and what their jobs are in them. As JobStore: nothing is kept in memory, one thread,
// methods throw DatabaseError. Methods that write belong within the caller's Transaction where it has one.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/job/sweep_record.h"
#include "jobs/store/job_store.h"

namespace esper::jobs {

// In the reason of a job that is paused at its rung, while its sweep may let it go on.
inline constexpr std::string_view kMayGoOn = "goes on if it is among the best of its sweep";

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
  // The newest ones, at most `most`, in the order of their ids.
  std::vector<SweepRecord> list(std::int64_t most);
  // Of a sweep that exists.
  SweepState state_of(SweepId id);
  // Those for which something may have to be decided after a start of the daemon.
  std::vector<SweepId> undecided();

  struct Texts {
    std::string sweep, run_file;
  };
  Texts texts_of(SweepId id);  // throws base::ConfigError where it was lost: missing_row()
  // Of every job that was not lost, configuration by configuration and seed by seed.
  std::vector<SweepTrial> trials_of(SweepId id);
  std::optional<SweepTrial> trial_of(JobId job);

  void save_state(SweepId id, SweepState state, std::int64_t ended_ms);
  // What the trial reached at its rung; replaces what is there.
  void save_result(const SweepTrial& trial, double value);
  // Of its rung: it has not reached it then.
  void remove_result(const SweepTrial& trial);
  void make_due(const std::vector<SweepStep>& steps);
  // The turn of those that their user let begin, or cancelled: what becomes of them later is the user's.
  void record_begun(SweepId id);
  // Queues those that are held or paused: these are returned. Their turn has begun, as that of the others has.
  std::vector<JobId> begin(const std::vector<JobId>& jobs);
  // The sweep has ended: from here on only their user continues those that are paused, which Job::ended_ms and the
  // reason say. All that are changed.
  std::vector<JobId> leave_paused(SweepId id, std::int64_t at_ms);
  // Of those that were left so: the ones that their user has resumed since.
  std::vector<JobId> resumed(SweepId id);
  // Lets these train to that many epochs.
  void train_on(const std::vector<JobId>& jobs, std::int64_t epochs);
  // Jobs that wait are cancelled, those that run are to stop. All that are changed.
  std::vector<JobId> cancel_jobs(SweepId id, std::int64_t at_ms);

 private:
  std::optional<SweepRecord> first_in(Statement& rows);
  // Into each of these, which are all sweeps from the first one to the last one.
  void count_jobs(std::span<SweepRecord> sweeps);
  std::vector<SweepTrial> read_trials(Statement& rows);

  JobStore& jobs_;
  Database& database_;
};

}  // namespace esper::jobs
