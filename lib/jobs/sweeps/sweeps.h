#pragma once
// The daemon's sweeps: expands them into jobs, lets these begin and go on, and stores what came out. All of it follows
// from the database, so a daemon that is killed between two writes leaves nothing undecided. On the loop's thread.

#include <optional>
#include <set>
#include <vector>

#include "base/expected.h"
#include "jobs/store/job_store.h"
#include "jobs/store/sweep_store.h"
#include "jobs/store/trial_store.h"
#include "jobs/sweeps/stored_sweeps.h"

namespace esper::jobs {

class Sweeps {
 public:
  explicit Sweeps(JobStore& jobs);

  // What is stored of them: reports, the run files of their jobs.
  StoredSweeps& stored() { return stored_; }

  // Its jobs are there, held, when this returns; drive() reports them and lets them begin. `submission` is one that was
  // checked.
  SweepRecord submit(const SweepSubmission& submission, const Asked& asked);
  // Fail with the reason where the sweep's state does not allow it. A sweep that has ended can be cancelled as long as
  // it has jobs that have not.
  base::Expected<SweepRecord> cancel(SweepId id, const Asked& asked);
  base::Expected<SweepRecord> resume(SweepId id, const Asked& asked);

  // After a start of the daemon: those are due that have something to decide.
  void recover();
  // Something happened to a job of the sweep: it is due.
  void touch(SweepId id) { due_.insert(id); }
  // Decides for the sweeps that are due. The jobs that were made or changed since the last call, each once.
  std::vector<Job> drive(std::int64_t now_ms);
  // Instead of JobStore::save(), for a job of a sweep whose attempt has ended and was settled. One that reached a rung
  // below the last one is paused rather than succeeded, or cancelled where it was stopped for that, and its result is
  // stored with it. One that its user paused has no result at its rung until it has run again, so that the sweep does
  // not continue it. A paused job with Job::ended_ms above 0 is continued by its user alone: it trains to the last
  // rung's epochs then, outside of the table of results. Throws base::IoError where the result cannot be read now, and
  // has written nothing then.
  void save_end(Job& job, StopPurpose stopped_for, const Asked& asked);

 private:
  base::Expected<SweepRecord> existing(SweepId id);
  void drive_one(const SweepRecord& record, std::int64_t now_ms);
  // The jobs that it changes. Within the caller's transaction, as the next one.
  std::vector<JobId> take_steps(const SweepRecord& record, const sweep::Sweep& sweep, std::int64_t now_ms);
  void save_rung(Job& job, const SweepTrial& trial, const sweep::Sweep& sweep, StopPurpose stopped_for,
                 std::optional<double> result);

  JobStore& jobs_;
  SweepStore store_;
  TrialStore trials_;
  StoredSweeps stored_;
  std::set<SweepId> due_;
  std::set<JobId> changed_;
};

}  // namespace esper::jobs
