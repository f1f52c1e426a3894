#include "jobs/queue/queue.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <system_error>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/names.h"
#include "config/loading/load.h"
#include "jobs/job/job_states.h"
#include "jobs/schedule/admission.h"
#include "jobs/schedule/run_inputs.h"
#include "nissa/log.h"

namespace esper::jobs {
namespace {

using S = JobState;

// Jobs that wait for their delay stand between those that could begin.
constexpr std::int64_t kMostLookedAt = 256;
constexpr int kMostForecastAtOnce = 16;

std::int64_t wall_ms() { return std::chrono::duration_cast<std::chrono::milliseconds>(base::Clock().wall()).count(); }

const std::vector<JobState> kActive{S::kStarting, S::kRunning, S::kStopping};

}  // namespace

Queue::Queue(boost::asio::io_context& loop, JobStore& store, Sweeps& sweeps, QueueSetup setup,
             std::function<void(const Job&)> changed)
    : loop_(loop),
      store_(store),
      sweeps_(sweeps),
      setup_(std::move(setup)),
      changed_(std::move(changed)),
      observer_(setup_.machine),
      attempts_(loop, setup_.attempts, [this](JobId id, const AttemptEnd& end) { ended(id, end); }),
      retry_(loop),
      look_again_(loop) {}

void Queue::save(const Job& job, const std::optional<Asked>& asked) {
  store_.save(job, asked);
  if (job.sweep != 0 && !is_active(job.state)) sweeps_.touch(job.sweep);
  changed_(job);
}

void Queue::recover() {
  for (Job job : store_.list({.states = kActive})) {
    const auto end = attempts_.adopt(job);
    if (!end) {
      if (job.state == S::kStarting) {
        job.state = S::kRunning;
        save(job);
      }
      if (job.state == S::kStopping) attempts_.stop(job.id);
    } else if (job.state == S::kStarting && !read_process(attempts_.folder_of(job.id), job.attempts)) {
      job.state = S::kQueued;  // it never began
      job.gpus.clear();
      save(job);
    } else {
      finish(job, *end);
    }
  }
  sweeps_.recover();
  schedule();
}

base::Expected<Job> Queue::submit(const Submission& submission, std::int64_t uid) {
  const auto admitted = admitted_here(submission);
  if (!admitted) return base::failure(admitted.error());
  const auto made = store_.submit(*admitted, asked_now(uid, "submit", submission.name));
  if (made) {
    changed_(*made);
    schedule();
  }
  return made;
}

base::Expected<std::vector<Job>> Queue::submit_each(const Submission& submission, std::int64_t uid) {
  const auto admitted = admitted_here(submission);
  if (!admitted) return base::failure(admitted.error());
  const auto made = store_.submit_each(*admitted, asked_now(uid, "submit"));
  if (made) {
    for (const Job& job : *made) changed_(job);
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
  } else if ((action == Action::kPause || action == Action::kHold) && state == S::kQueued) {
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
  save(job, asked_now(uid, std::string(base::name_of(action))));
  if (job.state == S::kStopping) attempts_.stop(id);
  schedule();
  return job;
}

base::Expected<Job> Queue::edit(JobId id, const JobChange& change, std::int64_t uid) {
  auto job = store_.edit(id, change, asked_now(uid, "edit", summary_of(change)));
  if (job) {
    changed_(*job);
    schedule();
  }
  return job;
}

std::string Queue::waiting_reason(const Job& job) const {
  if (job.state != S::kQueued) return job.reason;
  if (is_draining_) return "the daemon is draining: no job begins";
  if (not_before_.contains(job.id)) return "waits before it is started again; " + job.reason;
  if (const auto found = reasons_.find(job.id); found != reasons_.end()) return found->second;
  if (!job.reason.empty()) return job.reason;
  return job.after.empty() ? "waits for its turn" : "waits for its turn, or for the jobs that it comes after";
}

std::string Queue::run_file_of(const Job& job) {
  return job.sweep == 0 ? store_.config_of(job.id) : sweeps_.run_file_of(job);
}

void Queue::schedule() {
  if (std::exchange(is_look_due_, true)) return;
  boost::asio::post(loop_, [this] {
    is_look_due_ = false;
    look();
  });
}

std::vector<Job> Queue::startable() {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(not_before_, [&](const auto& entry) { return entry.second <= now; });
  auto ready = store_.ready(kMostLookedAt + static_cast<std::int64_t>(not_before_.size()));
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

void Queue::look() {
  for (Job job : store_.without_hope()) {
    job.state = S::kFailed;
    job.reason = "a job that it comes after did not succeed";
    job.ended_ms = wall_ms();
    save(job);
    schedule();
  }
  for (const Job& job : sweeps_.drive(wall_ms())) {
    changed_(job);
    if (job.state == S::kStopping) attempts_.stop(job.id);
  }
  reasons_.clear();
  look_again_.cancel();
  if (is_draining_) return;
  auto ready = startable();
  forecast_runs(ready);
  if (!ready.empty()) place_jobs(ready);
}

// Trials of a sweep, and jobs of an earlier version's database, have no forecast yet. A few at a time, in their order:
// a configuration takes milliseconds to read.
void Queue::forecast_runs(std::vector<Job>& ready) {
  int left = kMostForecastAtOnce;
  std::vector<Job> known;
  for (Job& job : ready) {
    if (job.forecast == config::RunForecast{}) {
      if (left-- == 0) {
        schedule();
        break;
      }
      if (!forecast_run(job)) continue;
    }
    known.push_back(std::move(job));
  }
  ready = std::move(known);
}

// False: it can never begin, and has failed.
bool Queue::forecast_run(Job& job) {
  std::string problem;
  try {
    const auto admitted = admitted_here(
        {.config = run_file_of(job), .folder = job.folder, .run_dir = job.run_dir, .needs = job.needs});
    if (admitted) {
      job.needs = admitted->needs;
      job.forecast = admitted->forecast;
    } else {
      problem = admitted.error();
    }
  } catch (const base::ConfigError& error) {
    problem = error.what();
  }
  if (!problem.empty()) {
    finish(job, {.problem = problem, .checkpoint = job.checkpoint});
    return false;
  }
  save(job);
  return true;
}

base::Expected<Submission> Queue::admitted_here(const Submission& submission) const {
  const auto config = config::read_run_config_text(submission.config, "config").config;
  const std::string& run_dir = submission.run_dir.empty() ? submission.runs_dir : submission.run_dir;
  return admit(submission, config, run_inputs(config, submission.folder), observer_.capacity(),
               observer_.whole_disk(run_dir));
}

void Queue::place_jobs(const std::vector<Job>& ready) {
  const auto active = store_.list({.states = kActive});
  const Machine machine = observer_.look(ready, active, [this](JobId id) { return attempts_.folder_of(id); });
  const Placement placement = place(ready, active, machine);
  for (const auto& wait : placement.waits) reasons_[wait.job] = wait.reason;
  for (const auto& one : placement.starts) start(*std::ranges::find(ready, one.job, &Job::id), one.gpus);
  for (const JobId id : placement.yields) {
    Job job = *std::ranges::find(active, id, &Job::id);
    request_stop(job, StopPurpose::kYield);
    save(job);
    attempts_.stop(id);
  }
  if (!placement.look_again) return;
  look_again_.expires_after(setup_.look_again);
  look_again_.async_wait([this](const boost::system::error_code& error) {
    if (!error) schedule();
  });
}

void Queue::start(Job job, const std::vector<std::int64_t>& gpus) {
  if (auto lost = lost_run(job); !lost.empty()) return finish(job, {.problem = std::move(lost)});
  job.state = S::kStarting;
  job.gpus = gpus;
  job.reason.clear();
  ++job.attempts;
  job.started_ms = wall_ms();
  save(job);
  try {
    attempts_.start(job, run_file_of(job), observer_.uuids_of(job.gpus));
  } catch (const base::ConfigError& error) {
    return finish(job, {.problem = error.what()});
  } catch (const std::system_error& error) {
    return finish(job, {.problem = error.what()});
  } catch (const base::IoError& error) {
    return finish(job, {.problem = error.what()});
  }
  job.state = S::kRunning;
  save(job);
}

void Queue::put_off(const Job& job) {
  const auto delay = restart_delay(job, setup_.restarts);
  if (delay.count() > 0) not_before_[job.id] = std::chrono::steady_clock::now() + delay;
}

void Queue::ended(JobId id, const AttemptEnd& end) {
  finish(*store_.find(id), end);
  schedule();
}

void Queue::finish(Job job, const AttemptEnd& end) {
  const StopPurpose purpose = job.purpose;
  settle(job, end, setup_.restarts);
  if (job.state == S::kQueued && purpose == StopPurpose::kNone) put_off(job);
  if (is_terminal(job.state)) job.ended_ms = wall_ms();
  if (job.sweep != 0) {
    sweeps_.save_end(job, purpose);
    changed_(job);
  } else {
    save(job);
  }
  nissa::log::info(fmt::format("job {} is {}: {}", job.id, base::name_of(job.state), job.reason));
}

}  // namespace esper::jobs
