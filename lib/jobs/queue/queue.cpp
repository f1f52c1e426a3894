#include "jobs/queue/queue.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <system_error>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/names.h"
#include "jobs/job/job_states.h"
#include "nissa/log.h"

namespace esper::jobs {
namespace {

using S = JobState;

// Jobs that wait for their delay stand between those that could begin.
constexpr std::int64_t kMostLookedAt = 256;

std::int64_t wall_ms() { return std::chrono::duration_cast<std::chrono::milliseconds>(base::Clock().wall()).count(); }

const std::vector<JobState> kActive{S::kStarting, S::kRunning, S::kStopping};

constexpr auto kAfterTrouble = std::chrono::seconds(1);

// What a machine lacks for a while.
bool may_pass(int error) {
  constexpr std::array kPassing{ENOSPC, EDQUOT, EFBIG, ENOMEM, EAGAIN, EMFILE, ENFILE};
  return std::ranges::find(kPassing, error) != kPassing.end();
}

}  // namespace

Queue::Queue(boost::asio::io_context& loop, JobStore& store, QueueSetup setup, std::function<void(const Job&)> changed)
    : loop_(loop),
      store_(store),
      setup_(std::move(setup)),
      changed_(std::move(changed)),
      attempts_(loop, setup_.attempts, [this](JobId id, const AttemptEnd& end) { ended(id, end); }),
      retry_(loop),
      wait_out_trouble_(loop) {}

void Queue::save(const Job& job, const std::optional<Asked>& asked) {
  store_.save(job, asked.value_or(Asked{wall_ms(), static_cast<std::int64_t>(::getuid()), "daemon", job.reason}));
  if (is_terminal(job.state) && job.state != S::kSucceeded) {
    for (const JobId id : store_.queued_after(job.id)) doubtful_.insert(id);
  } else if (job.state == S::kQueued && !job.after.empty()) {
    doubtful_.insert(job.id);
  }
  changed_(job);
}

void Queue::recover() {
  for (const JobId id : store_.without_hope()) doubtful_.insert(id);
  for (const Job& job : store_.list({.states = kActive})) {
    if (auto end = attempts_.adopt(job)) {
      end->never_began = job.state == S::kStarting && !end->exit_code && end->signal == 0 && end->problem.empty() &&
                         !read_process(attempts_.folder_of(job.id), job.attempts);
      ends_[job.id] = *end;
    } else if (job.state == S::kStopping) {
      attempts_.stop(job.id);
    }
  }
  schedule();
}

base::Expected<Job> Queue::submit(const Submission& submission, std::int64_t uid) {
  const auto made = store_.submit(submission, {wall_ms(), uid, "submit", submission.name});
  if (made) {
    if (!made->after.empty()) doubtful_.insert(made->id);
    changed_(*made);
    schedule();
  }
  return made;
}

void Queue::request_stop(Job& job, StopPurpose purpose) {
  job.state = S::kStopping;
  job.purpose = purpose;
}

base::Expected<Job> Queue::act(JobId id, Action action, std::int64_t uid) {
  auto found = store_.find(id);
  if (!found) return base::failure(fmt::format("there is no job {}", id));
  Job job = *found;
  const S state = job.state;
  const bool waits = state == S::kHeld || state == S::kQueued || state == S::kPaused;
  const bool runs = state == S::kStarting || state == S::kRunning;
  // A stop that makes room, or a pause, can still become another one.
  const bool stops = state == S::kStopping && job.purpose != StopPurpose::kCancel;
  if (action == Action::kCancel && waits) {
    job.state = S::kCancelled;
    job.reason = "cancelled by the user before it ran on";
    job.ended_ms = wall_ms();
  } else if (action == Action::kCancel && (runs || stops)) {
    request_stop(job, StopPurpose::kCancel);
  } else if (action == Action::kPause && state == S::kQueued) {
    job.state = S::kHeld;
    job.reason = "held back by the user";
  } else if (action == Action::kPause && (runs || stops)) {
    request_stop(job, StopPurpose::kPause);
  } else if (action == Action::kResume && (state == S::kHeld || state == S::kPaused)) {
    job.state = S::kQueued;
    job.reason.clear();
  } else if (action == Action::kRetry && is_terminal(state) && state != S::kSucceeded) {
    job.state = S::kQueued;
    job.reason = "retried by the user";
    job.interruptions = 0;
    job.ended_ms = 0;
  } else {
    return base::failure(
        fmt::format("job {} is {}: it cannot be told to {}", id, base::name_of(state), base::name_of(action)));
  }
  save(job, Asked{wall_ms(), uid, std::string(base::name_of(action)), ""});
  if (job.state == S::kStopping) attempts_.stop(id);
  schedule();
  return job;
}

base::Expected<Job> Queue::set_priority(JobId id, std::int64_t priority, std::int64_t uid) {
  auto job = store_.find(id);
  if (!job) return base::failure(fmt::format("there is no job {}", id));
  if (is_terminal(job->state)) return base::failure(fmt::format("job {} has ended: {}", id, base::name_of(job->state)));
  job->priority = priority;
  save(*job, Asked{wall_ms(), uid, "priority", std::to_string(priority)});
  schedule();
  return *job;
}

std::string Queue::waiting_reason(const Job& job) const {
  if (job.state != S::kQueued) return job.reason;
  if (is_draining_) return "the daemon is draining: no job begins";
  if (not_before_.contains(job.id)) return "waits before it is started again; " + job.reason;
  if (const auto found = reasons_.find(job.id); found != reasons_.end()) return found->second;
  if (!job.reason.empty()) return job.reason;
  return job.after.empty() ? "waits for its turn" : "waits for its turn, or for the jobs that it comes after";
}

// Once for all that happened in this turn of the loop.
void Queue::schedule() {
  if (std::exchange(is_look_due_, true)) return;
  boost::asio::post(loop_, [this] {
    is_look_due_ = false;
    look_or_put_off();
  });
}

// What is not written because the disk is full is done again until it is: nothing of it is lost meanwhile.
void Queue::look_or_put_off() {
  try {
    settle_ends();
    look();
    trouble_.clear();
  } catch (const DatabaseError& error) {
    if (trouble_ != error.what()) nissa::log::warning(fmt::format("{}; tried again each second", error.what()));
    trouble_ = error.what();
    wait_out_trouble_.expires_after(kAfterTrouble);
    wait_out_trouble_.async_wait([this](const boost::system::error_code& failed) {
      if (!failed) schedule();
    });
  }
}

void Queue::settle_ends() {
  while (!ends_.empty()) {
    const auto first = ends_.begin();
    finish(*store_.find(first->first), first->second);
    ends_.erase(first);
  }
}

std::vector<Job> Queue::startable(const std::vector<Job>& active) {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(not_before_, [&](const auto& entry) { return entry.second <= now; });
  std::int64_t threads = setup_.capacity.threads;
  for (const Job& job : active) threads -= threads_of(job.needs, setup_.capacity);
  // Each job needs a thread: where none is free, only the first may begin, in place of others.
  const std::int64_t most = threads > 0 ? kMostLookedAt : 1;
  auto ready = store_.ready(most + static_cast<std::int64_t>(not_before_.size()));
  std::erase_if(ready, [&](const Job& job) { return not_before_.contains(job.id); });
  if (!not_before_.empty()) {
    const auto next = std::ranges::min_element(not_before_, {}, [](const auto& entry) { return entry.second; });
    retry_.expires_at(next->second);
    retry_.async_wait([this](const boost::system::error_code& error) {
      if (!error) schedule();
    });
  }
  return ready;
}

// Each that fails makes those doubtful that come after it.
void Queue::fail_hopeless() {
  while (!doubtful_.empty()) {
    const JobId id = *doubtful_.begin();
    auto job = store_.find(id);
    if (job->state == S::kQueued && store_.is_without_hope(id)) {
      job->state = S::kFailed;
      job->reason = "a job that it comes after did not succeed";
      job->ended_ms = wall_ms();
      save(*job);
    }
    doubtful_.erase(id);
  }
}

void Queue::look() {
  fail_hopeless();
  if (is_draining_) return;
  auto active = store_.list({.states = kActive});
  for (Job& job : active) {
    if (job.state != S::kStarting || !attempts_.has(job.id)) continue;
    job.state = S::kRunning;  // this was not written when it began
    save(job);
  }
  const auto ready = startable(active);
  const Placement placement = place(ready, active, setup_.capacity);
  reasons_.clear();
  for (const auto& wait : placement.waits) reasons_[wait.job] = wait.reason;
  for (const auto& one : placement.starts) start(*std::ranges::find(ready, one.job, &Job::id), one.gpus);
  for (const JobId id : placement.yields) {
    Job job = *std::ranges::find(active, id, &Job::id);
    request_stop(job, StopPurpose::kYield);
    save(job);
    attempts_.stop(id);
  }
}

void Queue::start(Job job, const std::vector<std::int64_t>& gpus) {
  job.state = S::kStarting;
  job.gpus = gpus;
  job.reason.clear();
  ++job.attempts;
  job.started_ms = wall_ms();
  save(job);
  const std::string run_file = store_.config_of(job.id);
  const auto failed = [&](int error, const char* text) {
    ends_[job.id] = {.problem = text, .never_began = may_pass(error)};
    schedule();
  };
  try {
    attempts_.start(job, run_file);
  } catch (const std::system_error& error) {
    return failed(error.code().value(), error.what());
  } catch (const base::IoError& error) {
    return failed(error.error_number(), error.what());
  }
  job.state = S::kRunning;
  save(job);
}

void Queue::put_off(const Job& job, const AttemptEnd& end) {
  const bool is_trouble = end.never_began && !end.problem.empty();
  const auto delay = is_trouble ? base::Duration(kAfterTrouble) : restart_delay(job, setup_.restarts);
  if (delay.count() > 0) not_before_[job.id] = std::chrono::steady_clock::now() + delay;
}

void Queue::ended(JobId id, const AttemptEnd& end) {
  ends_[id] = end;
  schedule();
}

void Queue::finish(Job job, const AttemptEnd& end) {
  const bool asked = job.purpose != StopPurpose::kNone;
  settle(job, end, setup_.restarts);
  if (job.state == S::kQueued && !asked) put_off(job, end);
  if (is_terminal(job.state)) job.ended_ms = wall_ms();
  save(job);
  nissa::log::info(fmt::format("job {} is {}: {}", job.id, base::name_of(job.state), job.reason));
}

}  // namespace esper::jobs
