#include "jobs/queue/queue.h"

#include <fmt/core.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "base/file_system.h"
#include "base/names.h"
#include "jobs/job/job_states.h"
#include "nissa/log.h"

namespace esper::jobs {
namespace {

using S = JobState;

constexpr auto kAfterTrouble = std::chrono::seconds(1);

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
          loop, store, sweeps, updates_, attempts_, std::move(setup.scheduler),
          {.look_again = [this] { schedule(); }, .ended = [this](JobId id, const AttemptEnd& end) { ended(id, end); }}),
      wait_out_trouble_(loop) {}

void Queue::recover() {
  updates_.recover();
  for (const Job& job : store_.list({.states = kActiveStates})) {
    if (auto end = adopted_end(job)) {
      end->never_began = job.state == S::kStarting && !end->exit_code && end->signal == 0 && end->problem.empty() &&
                         !read_process(attempts_.folder_of(job.id), job.attempts);
      ends_[job.id] = *end;
    } else if (job.state == S::kStopping) {
      attempts_.stop(job.id);
    }
  }
  sweeps_.recover();
  schedule();
}

// A folder that cannot be used keeps no other job from being adopted: this one is started again when it can.
std::optional<AttemptEnd> Queue::adopted_end(const Job& job) {
  try {
    return attempts_.adopt(job);
  } catch (const base::IoError& error) {
    return AttemptEnd{.problem = error.what(), .never_began = true};
  }
}

base::Expected<std::vector<Job>> Queue::submit(const Submission& submission, std::int64_t uid) {
  const auto admitted = scheduler_.forecasts().admit(submission);
  if (!admitted) return base::failure(admitted.error());
  const Asked asked = asked_now(uid, "submit", submission.name);
  const auto made = store_.submit_each(*admitted, asked);
  if (made) {
    for (const Job& job : *made) updates_.announce(job);
    schedule();
  }
  return made;
}

base::Expected<Job> Queue::act(JobId id, JobAction action, std::int64_t uid) {
  const auto found = store_.find(id);
  if (!found) return base::failure(fmt::format("there is no job {}", id));
  const Asked asked = asked_now(uid, std::string(base::name_of(action)));
  auto job = after_action(*found, action, asked.at_ms);
  if (!job) return job;
  updates_.save(*job, asked);
  if (job->state == S::kStopping) attempts_.stop(id);
  schedule();
  return job;
}

base::Expected<Job> Queue::edit(JobId id, const JobChange& change, std::int64_t uid) {
  const auto stored = store_.find(id);
  std::optional<Job> forecast;
  if (stored && changes_forecast(change) && !is_active(stored->state) && why_not(*stored, change).empty()) {
    const auto& forecasts = scheduler_.forecasts();
    auto possible =
        forecasts.forecast(changed(*stored, change), change.config ? *change.config : forecasts.run_file_of(*stored));
    if (!possible) return base::failure(possible.error());
    forecast = std::move(*possible);
  }
  auto job = store_.edit(id, change, asked_now(uid, "edit", summary_of(change)));
  if (!job) return job;
  if (forecast) {  // where this is not written any more, the scheduler makes it again
    job->needs = forecast->needs;
    job->forecast = forecast->forecast;
    store_.save(*job);
  }
  updates_.announce(*job);
  schedule();
  return job;
}

std::string Queue::waiting_reason(const Job& job) const {
  if (job.state != S::kQueued) return job.reason;
  if (is_draining_) return "the daemon is draining: no job begins";
  if (auto reason = scheduler_.waiting_reason(job); !reason.empty()) return reason;
  if (!job.reason.empty()) return job.reason;
  return job.after.empty() ? "waits for its turn" : "waits for its turn, or for the jobs that it comes after";
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
    trouble_.clear();
  } catch (const base::Error& error) {
    if (error.code() == base::ExitCode::kBug) throw;
    if (trouble_ != error.what()) nissa::log::warning(fmt::format("{}; tried again each second", error.what()));
    trouble_ = error.what();
    wait_out_trouble_.expires_after(kAfterTrouble);
    wait_out_trouble_.async_wait([this](const boost::system::error_code& failed) {
      if (!failed) schedule();
    });
  }
}

void Queue::look() {
  settle_ends();
  updates_.fail_hopeless();
  drive_sweeps();
  if (!is_draining_) scheduler_.look();
}

void Queue::settle_ends() {
  while (!ends_.empty()) {
    const auto first = ends_.begin();
    const Job before = *store_.find(first->first);
    const AttemptEnd& end = first->second;
    if (!is_active(before.state) && before.state != S::kQueued) {  // its user was faster
      ends_.erase(first);
      continue;
    }
    const Job job = updates_.save_end(before, end, restarts_);
    const bool is_trouble = end.never_began && !end.problem.empty();
    if (job.state == S::kQueued && before.purpose == StopPurpose::kNone)
      scheduler_.delay(job, is_trouble ? base::Duration(kAfterTrouble) : restart_delay(job, restarts_));
    ends_.erase(first);
  }
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
