#include "jobs/queue/queue.h"

#include <fmt/ranges.h>

#include <utility>

#include "base/names.h"
#include "jobs/job/job_states.h"
#include "jobs/store/run_folders.h"

namespace esper::jobs {
namespace {

using S = JobState;

}  // namespace

Queue::Queue(boost::asio::io_context& loop, JobStore& store, Sweeps& sweeps, QueueSetup setup,
             JobUpdates::Changed changed)
    : store_(store),
      sweeps_(sweeps),
      updates_(store, sweeps, std::move(changed)),
      attempts_(loop, std::move(setup.attempts), [this](JobId id, const AttemptEnd& end) { ended(id, end); }),
      scheduler_(
          loop, store, sweeps.stored(), updates_, attempts_, std::move(setup.scheduler),
          {.look_again = [this] { schedule(); }, .ended = [this](JobId id, const AttemptEnd& end) { ended(id, end); }}),
      ends_(store, updates_, scheduler_, setup.restarts),
      adoption_(
          loop, store, attempts_,
          {.ended = [this](JobId id, const AttemptEnd& end) { ends_.add(id, end); }, .again = [this] { schedule(); }}),
      look_(loop, [this] { look(); }) {}

void Queue::recover() {
  updates_.recover();
  adoption_.begin();
  sweeps_.recover();
  schedule();
}

base::Expected<std::vector<Job>> Queue::submit(const Submission& submission, std::int64_t uid) {
  // A submission that is repeated has been admitted already.
  const auto admitted =
      store_.knows(submission) ? base::Expected<Submission>(submission) : forecasts().admit(submission);
  if (!admitted) return base::failure(admitted.error());
  const Asked asked = asked_now(uid, "submit", submission.name);
  auto made = store_.submit(*admitted, asked);
  if (!made) return made;
  UnfinishedJobs unfinished(store_.database());
  for (Job& job : *made) {
    updates_.announce(job);
    job.reason = waiting_reason(job, unfinished);
  }
  schedule();
  return made;
}

base::Expected<Job> Queue::act(JobId id, JobAction action, std::int64_t uid) {
  const auto found = store_.find(id);
  if (!found) return base::failure(fmt::format("there is no job {}", id));
  if (action == JobAction::kRetry) {
    if (const auto owner = later_owner(store_.database(), *found))
      return base::failure(fmt::format("its run folder {} belongs to job {} now", found->run_dir, *owner));
  }
  const Asked asked = asked_now(uid, std::string(base::name_of(action)));
  auto job = after_action(*found, action, asked.at_ms);
  if (!job) return job;
  updates_.save(*job, asked);
  if (job->state == S::kStopping) attempts_.stop(id);
  schedule();
  job->reason = waiting_reason(*job);
  return job;
}

base::Expected<Job> Queue::edit(JobId id, const JobChange& change, std::int64_t uid) {
  const auto stored = store_.find(id);
  if (!stored) return base::failure(fmt::format("there is no job {}", id));
  const auto forecast = forecasts().after_change(*stored, change);
  if (!forecast) return base::failure(forecast.error());
  Transaction transaction(store_.database());
  auto job = store_.edit(id, change, asked_now(uid, "edit", summary_of(change)));
  if (!job) return job;
  if (*forecast && !is_active(stored->state)) {
    job->needs = (*forecast)->needs;
    job->forecast = (*forecast)->forecast;
    store_.save(*job);
  }
  transaction.commit();
  updates_.announce(*job);
  schedule();
  job->reason = waiting_reason(*job);
  return job;
}

std::string Queue::waiting_reason(const Job& job) const {
  UnfinishedJobs unfinished(store_.database());
  return waiting_reason(job, unfinished);
}

std::string Queue::waiting_reason(const Job& job, UnfinishedJobs& unfinished) const {
  if (job.state != S::kQueued) return job.reason;
  if (is_draining_) return "the daemon is draining: no job starts";
  if (auto reason = scheduler_.waiting_reason(job); !reason.empty()) return reason;
  if (!job.reason.empty()) return job.reason;
  if (job.after.empty()) return "waits for its turn";
  const auto first = unfinished.among(job.after);
  if (first.empty()) return "waits for its turn";
  return fmt::format("waits for {} {} to succeed", first.size() == 1 ? "job" : "jobs", fmt::join(first, ", "));
}

void Queue::look() {
  adoption_.go_on();
  if (!ends_.settle()) look_.request_later();
  do {  // a sweep may end jobs that others come after
    updates_.fail_dependents();
    drive_sweeps();
  } while (updates_.has_dependents_to_check());
  if (!is_draining_) scheduler_.look();
}

void Queue::drive_sweeps() {
  const auto changed = sweeps_.drive(asked_now(0, "").at_ms);
  for (const Job& job : changed)
    if (job.state == S::kStopping) attempts_.stop(job.id);
  for (const Job& job : changed) updates_.announce(job);
}

void Queue::ended(JobId id, const AttemptEnd& end) {
  ends_.add(id, end);
  schedule();
}

}  // namespace esper::jobs
