#include "jobs/queue/queue.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/file_system.h"
#include "base/names.h"
#include "jobs/job/job_states.h"
#include "jobs/store/run_folders.h"
#include "nissa/log.h"

namespace esper::jobs {
namespace {

using S = JobState;

constexpr auto kAfterFailure = std::chrono::seconds(1);
constexpr auto kAdoptAgain = std::chrono::seconds(5);

}  // namespace

Queue::Queue(boost::asio::io_context& loop, JobStore& store, Sweeps& sweeps, QueueSetup setup,
             JobUpdates::Changed changed)
    : loop_(loop),
      store_(store),
      sweeps_(sweeps),
      restarts_(setup.restarts),
      updates_(store, sweeps, std::move(changed)),
      attempts_(loop, std::move(setup.attempts), [this](JobId id, const AttemptEnd& end) { ended(id, end); }),
      scheduler_(
          loop, store, sweeps.reader(), updates_, attempts_, std::move(setup.scheduler),
          {.look_again = [this] { schedule(); }, .ended = [this](JobId id, const AttemptEnd& end) { ended(id, end); }}),
      adopt_again_(loop),
      look_again_(loop) {}

void Queue::recover() {
  updates_.recover();
  for (const Job& job : store_.list({.states = kActiveStates})) adopt(job);
  sweeps_.recover();
  schedule();
}

// A folder that cannot be used keeps no other job from being adopted. Whether processes of this one live cannot be
// known meanwhile, so it stays as it is.
void Queue::adopt(const Job& job) {
  try {
    if (auto end = attempts_.adopt(job)) {
      end->never_began |= job.state == S::kStarting && !end->exit_code && end->signal == 0 && end->problem.empty() &&
                          !read_process(attempts_.folder_of(job.id), job.attempts);
      ends_[job.id] = *end;
    } else if (job.state == S::kStopping) {
      attempts_.stop(job.id);
    }
    not_adopted_.erase(job.id);
  } catch (const base::IoError& error) {
    if (not_adopted_.insert(job.id).second)
      nissa::log::warning(
          fmt::format("job {}: whether it runs cannot be known: {}; tried again until it can", job.id, error.what()));
  }
}

void Queue::adopt_rest() {
  for (const JobId id : std::set(not_adopted_)) adopt(*store_.find(id));
  if (not_adopted_.empty()) return;
  adopt_again_.expires_after(kAdoptAgain);
  adopt_again_.async_wait([this](const boost::system::error_code& error) {
    if (!error) schedule();
  });
}

base::Expected<std::vector<Job>> Queue::submit(const Submission& submission, std::int64_t uid) {
  // A submission that is repeated has been admitted already.
  const auto admitted =
      store_.knows(submission) ? base::Expected<Submission>(submission) : scheduler_.forecasts().admit(submission);
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

std::string Queue::why_never(const Submission& submission) const {
  return scheduler_.forecasts().admit(submission).error_or("");
}

base::Expected<Job> Queue::act(JobId id, JobAction action, std::int64_t uid) {
  const auto found = store_.find(id);
  if (!found) return base::failure(fmt::format("there is no job {}", id));
  if (action == JobAction::kRetry) {
    if (const auto owner = later_owner(store_.database(), *found))
      return base::failure(fmt::format("its run folder {} is job {}'s by now", found->run_dir, *owner));
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

// The job with the needs and the forecast that the change gives it; nothing where it changes neither. Fails where it
// could never begin again here.
base::Expected<std::optional<Job>> Queue::forecast_after(const Job& job, const JobChange& change) const {
  if (!changes_forecast(change) || !why_not(job, change).empty()) return std::optional<Job>();
  const auto& forecasts = scheduler_.forecasts();
  auto possible = forecasts.admit(changed(job, change), change.config ? *change.config : forecasts.run_file_of(job));
  if (!possible) return base::failure(possible.error());
  return std::optional(std::move(*possible));
}

base::Expected<Job> Queue::edit(JobId id, const JobChange& change, std::int64_t uid) {
  const auto stored = store_.find(id);
  if (!stored) return base::failure(fmt::format("there is no job {}", id));
  const auto forecast = forecast_after(*stored, change);
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
  if (is_draining_) return "the daemon is draining: no job begins";
  if (auto reason = scheduler_.waiting_reason(job); !reason.empty()) return reason;
  if (!job.reason.empty()) return job.reason;
  if (job.after.empty()) return "waits for its turn";
  const auto first = unfinished.among(job.after);
  if (first.empty()) return "waits for its turn";
  return fmt::format("waits for {} {} to succeed", first.size() == 1 ? "job" : "jobs", fmt::join(first, ", "));
}

void Queue::schedule() {
  if (std::exchange(is_look_due_, true)) return;
  boost::asio::post(loop_, [this] {
    is_look_due_ = false;
    look_or_put_off();
  });
}

// What cannot be written or read, as on a full disk, is done again until it can: nothing of it is lost meanwhile.
void Queue::look_or_put_off() {
  try {
    look();
    database_failure_.clear();
  } catch (const base::Error& error) {
    if (error.code() == base::ExitCode::kBug) throw;
    if (database_failure_ != error.what())
      nissa::log::warning(fmt::format("{}; tried again each second", error.what()));
    database_failure_ = error.what();
    look_after_failure();
  }
}

void Queue::look_after_failure() {
  look_again_.expires_after(kAfterFailure);
  look_again_.async_wait([this](const boost::system::error_code& failed) {
    if (!failed) schedule();
  });
}

void Queue::look() {
  if (!not_adopted_.empty()) adopt_rest();
  settle_ends();
  do {  // a sweep may end jobs that others come after
    updates_.fail_dependents();
    drive_sweeps();
  } while (updates_.has_dependents_to_check());
  if (!is_draining_) scheduler_.look();
}

// One whose result cannot be read now keeps no other from being settled.
void Queue::settle_ends() {
  bool is_put_off = false;
  for (auto next = ends_.begin(); next != ends_.end();) {
    try {
      settle_end(next->first, next->second);
      unread_results_.erase(next->first);
      next = ends_.erase(next);
    } catch (const base::IoError& error) {
      is_put_off = true;
      if (unread_results_.insert(next->first).second)
        nissa::log::warning(fmt::format("job {}: what its run came to cannot be read now: {}; tried again each second",
                                        next->first, error.what()));
      ++next;
    }
  }
  if (is_put_off) look_after_failure();
}

void Queue::settle_end(JobId id, const AttemptEnd& seen) {
  const Job before = *store_.find(id);
  if (!is_active(before.state) && before.state != S::kQueued) return;  // its user was faster
  const AttemptEnd end = after_failed_starts(before, seen);
  const Job job = updates_.save_end(before, end, restarts_);
  const auto delay = delay_after(job, end);
  if (job.state == S::kQueued && before.purpose == StopPurpose::kNone) scheduler_.delay(job, delay);
}

// The last one in a row that is allowed fails the job, where what fails them may stay.
AttemptEnd Queue::after_failed_starts(const Job& job, AttemptEnd end) const {
  const auto before = failed_starts_.find(job.id);
  const auto count = 1 + (before == failed_starts_.end() ? 0 : before->second);
  if (!end.may_stay || count < restarts_.most_failed_starts) return end;
  end.never_began = false;
  end.problem = fmt::format("could not be started {} times in a row: {}", count, end.problem);
  end.checkpoint = job.checkpoint;
  return end;
}

// Doubles with each start in a row that failed.
base::Duration Queue::delay_after(const Job& job, const AttemptEnd& end) {
  if (!end.never_began || end.problem.empty()) {
    failed_starts_.erase(job.id);
    return restart_delay(job, restarts_);
  }
  const auto doublings = std::min<std::int64_t>(failed_starts_[job.id]++, 20);
  return std::min(base::Duration(kAfterFailure) * (std::int64_t{1} << doublings), restarts_.longest_delay);
}

void Queue::drive_sweeps() {
  const auto changed = sweeps_.drive(asked_now(0, "").at_ms);
  for (const Job& job : changed)
    if (job.state == S::kStopping) attempts_.stop(job.id);
  for (const Job& job : changed) updates_.announce(job);
}

void Queue::ended(JobId id, const AttemptEnd& end) {
  ends_[id] = end;
  schedule();
}

}  // namespace esper::jobs
