#pragma once
// Every change of a job goes through here: into the database, to its sweep, to the jobs that come after it, and to
// those who listen. On the loop's thread. Methods throw DatabaseError; what they were to write is then not written.

#include <functional>
#include <optional>
#include <set>

#include "jobs/job/attempt_end.h"
#include "jobs/store/job_store.h"
#include "jobs/sweeps/sweeps.h"

namespace esper::jobs {

class JobUpdates {
 public:
  using Changed = std::function<void(const Job&)>;
  JobUpdates(JobStore& store, Sweeps& sweeps, Changed changed)
      : store_(store), sweeps_(sweeps), changed_(std::move(changed)) {}

  // After a start of the daemon.
  void recover();
  // Of a job that is in the database already, as after a submission.
  void announce(const Job& job);
  // Without `asked` the audit log says that the daemon did it.
  void save(const Job& job, const std::optional<Asked>& asked = {});
  // The job after its attempt has ended.
  Job save_end(Job job, const AttemptEnd& end, const RestartRules& rules);
  // Fails the queued jobs that come after one that did not succeed.
  void fail_dependents();
  bool has_dependents_to_check() const { return !to_check_.empty(); }

 private:
  JobStore& store_;
  Sweeps& sweeps_;
  const Changed changed_;
  std::set<JobId> to_check_;  // a job that they come after may not have succeeded
};

}  // namespace esper::jobs
