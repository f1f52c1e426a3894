#pragma once
// The queue: what users ask of jobs, and what follows from it and from the ends of attempts. On the loop's thread.
// What a method promises is in the database when it returns. Methods throw DatabaseError; what they were to write is
// then not written.

#include <boost/asio/io_context.hpp>
#include <string>
#include <vector>

#include "base/expected.h"
#include "jobs/job/job_actions.h"
#include "jobs/job/job_change.h"
#include "jobs/queue/adoption.h"
#include "jobs/queue/retried_task.h"
#include "jobs/queue/scheduler.h"
#include "jobs/queue/unsettled_ends.h"
#include "jobs/store/dependencies.h"

namespace esper::jobs {

struct QueueSetup {
  Attempts::Setup attempts;
  RestartRules restarts;
  Scheduler::Setup scheduler;
};

class Queue {
 public:
  // `changed` is called for each job that changed.
  Queue(boost::asio::io_context& loop, JobStore& store, Sweeps& sweeps, QueueSetup setup, JobUpdates::Changed changed);

  // Once, before anything else: adopts the processes that live, settles those that do not.
  void recover();
  // Its configuration has no mistakes. One job, or one for each of its seeds. Fails with the reason where it could
  // never begin here.
  base::Expected<std::vector<Job>> submit(const Submission& submission, std::int64_t uid);
  // Fails with the reason where the job's state does not allow it.
  base::Expected<Job> act(JobId id, JobAction action, std::int64_t uid);
  // Fails as JobStore::edit().
  base::Expected<Job> edit(JobId id, const JobChange& change, std::int64_t uid);
  // No job begins any more; what runs goes on.
  void drain() { is_draining_ = true; }
  bool is_draining() const { return is_draining_; }
  // Why a queued job does not run now; empty: nothing known.
  std::string waiting_reason(const Job& job) const;
  // The same for many jobs, with one `unfinished` for all.
  std::string waiting_reason(const Job& job, UnfinishedJobs& unfinished) const;
  // Whether a submission could ever begin here, and what jobs train with.
  const RunForecasts& forecasts() const { return scheduler_.forecasts(); }
  // Looks for what can begin and what is to stop, once for all that happened in this turn of the loop.
  void schedule() { look_.request(); }

 private:
  void look();
  void drive_sweeps();
  void ended(JobId id, const AttemptEnd& end);

  JobStore& store_;
  Sweeps& sweeps_;
  JobUpdates updates_;
  Attempts attempts_;
  Scheduler scheduler_;
  UnsettledEnds ends_;
  Adoption adoption_;
  RetriedTask look_;
  bool is_draining_ = false;
};

}  // namespace esper::jobs
