#pragma once
// How attempts ended, until it is in the database what becomes of their jobs. On the loop's thread.

#include <map>
#include <set>

#include "jobs/queue/failed_starts.h"
#include "jobs/queue/job_updates.h"
#include "jobs/queue/scheduler.h"
#include "jobs/store/job_store.h"

namespace esper::jobs {

class UnsettledEnds {
 public:
  UnsettledEnds(JobStore& store, JobUpdates& updates, Scheduler& scheduler, RestartRules rules)
      : store_(store), updates_(updates), scheduler_(scheduler), rules_(rules), failed_starts_(rules) {}

  void add(JobId job, const AttemptEnd& end) { ends_[job] = end; }
  // True: all are. One whose result cannot be read now stays for a later call, and keeps no other from being settled.
  // Throws DatabaseError; what was not written stays as well.
  bool settle();

 private:
  void settle_one(JobId id, const AttemptEnd& seen);

  JobStore& store_;
  JobUpdates& updates_;
  Scheduler& scheduler_;
  const RestartRules rules_;
  FailedStarts failed_starts_;
  std::map<JobId, AttemptEnd> ends_;
  std::set<JobId> unread_results_;  // of trials, which were warned of
};

}  // namespace esper::jobs
