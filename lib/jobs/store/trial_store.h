#pragma once
// The places of jobs in their sweeps, and what they came to at each rung, in the database. As SweepStore: nothing is
// kept in memory, one thread, methods throw DatabaseError.

#include <optional>
#include <vector>

#include "jobs/database/database.h"
#include "jobs/job/sweep_record.h"

namespace esper::jobs {

class TrialStore {
 public:
  explicit TrialStore(Database& database) : database_(database) {}

  // turn and rung, for a job that exists.
  void add(SweepId sweep, const SweepTrial& trial);
  // Of every job that was not lost, configuration by configuration and seed by seed.
  std::vector<SweepTrial> of_sweep(SweepId sweep);
  std::optional<SweepTrial> find(JobId job);

  // What the trial reached at its rung; replaces what is there.
  void save_result(const SweepTrial& trial, double value);
  // Of its rung: it has not reached it then.
  void remove_result(const SweepTrial& trial);

  // With what their jobs are trained to.
  void make_due(const std::vector<SweepStep>& steps);
  // Queues those of the jobs that are held or paused: these are returned. Their turn has begun, as that of the others
  // has.
  std::vector<JobId> begin(const std::vector<JobId>& jobs);
  // The turn of those that their user let begin, or cancelled: what becomes of them later is the user's.
  void record_begun(SweepId sweep);

 private:
  Database& database_;
};

}  // namespace esper::jobs
