#pragma once
// The queue: what users ask of jobs, and what follows from it and from the ends of attempts. On the loop's thread.
// What a method promises is in the database when it returns. Methods throw DatabaseError; what they were to write is
// then not written.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/expected.h"
#include "jobs/job/job_actions.h"
#include "jobs/job/job_change.h"
#include "jobs/queue/scheduler.h"
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
  // Why such a job could never begin here; empty: it can.
  std::string why_never(const Submission& submission) const;
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
  // What the job trains with, as RunForecasts::run_file_of().
  std::string run_file_of(const Job& job) const { return scheduler_.forecasts().run_file_of(job); }
  // Looks for what can begin and what is to stop, once for all that happened in this turn of the loop.
  void schedule();

 private:
  void look();
  void look_or_put_off();
  void look_after_failure();
  void settle_ends();
  void settle_end(JobId id, const AttemptEnd& seen);
  void drive_sweeps();
  void adopt(const Job& job);
  void adopt_rest();
  base::Expected<std::optional<Job>> forecast_after(const Job& job, const JobChange& change) const;
  AttemptEnd after_failed_starts(const Job& job, AttemptEnd end) const;
  base::Duration delay_after(const Job& job, const AttemptEnd& end);
  void ended(JobId id, const AttemptEnd& end);

  boost::asio::io_context& loop_;
  JobStore& store_;
  Sweeps& sweeps_;
  const RestartRules restarts_;
  JobUpdates updates_;
  Attempts attempts_;
  Scheduler scheduler_;
  std::map<JobId, AttemptEnd> ends_;             // that are not in the database yet
  std::map<JobId, std::int64_t> failed_starts_;  // in a row
  std::set<JobId> not_adopted_;                  // whose folder cannot be used yet
  std::set<JobId> unread_results_;               // of trials whose ends are not in the database therefore
  boost::asio::steady_timer adopt_again_, look_again_;
  std::string database_failure_;  // of the last look; empty: none
  bool is_draining_ = false, is_look_due_ = false;
};

}  // namespace esper::jobs
