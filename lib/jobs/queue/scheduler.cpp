#include "jobs/queue/scheduler.h"

#include <algorithm>
#include <boost/system/system_error.hpp>
#include <system_error>

#include "base/file_system.h"
#include "jobs/job/job_states.h"
#include "jobs/schedule/placement.h"

namespace esper::jobs {
namespace {

using S = JobState;

// Of those that could begin: others stand between them.
constexpr std::int64_t kMostLookedAt = 256;
constexpr std::int64_t kMostLookedAtWhereFull = 16;
// A configuration takes milliseconds to read.
constexpr int kMostForecastAtOnce = 16;

AttemptEnd failed_start(int error, const std::string& text) {
  return {.problem = text, .never_began = may_pass(error), .may_stay = may_stay(error)};
}

}  // namespace

Scheduler::Scheduler(boost::asio::io_context& loop, JobStore& store, StoredSweeps& sweeps, JobUpdates& updates,
                     Attempts& attempts, Setup setup, Callbacks callbacks)
    : store_(store),
      updates_(updates),
      attempts_(attempts),
      callbacks_(std::move(callbacks)),
      observer_(std::move(setup.machine)),
      forecasts_(store, sweeps, observer_),
      delays_(loop, callbacks_.look_again),
      look_again_(loop, setup.look_again, callbacks_.look_again) {}

std::string Scheduler::waiting_reason(const Job& job) const {
  if (delays_.has(job.id)) return "waits before it is started again" + (job.reason.empty() ? "" : "; " + job.reason);
  const auto found = reasons_.find(job.id);
  return found == reasons_.end() ? "" : found->second;
}

std::vector<Job> Scheduler::active_jobs() {
  auto active = store_.list({.states = kActiveStates});
  for (Job& job : active) {
    if (job.state != S::kStarting || !attempts_.has(job.id)) continue;
    job.state = S::kRunning;  // this was not written when it began
    updates_.save(job);
  }
  return active;
}

std::vector<Job> Scheduler::startable(const std::vector<Job>& active) {
  delays_.update();
  const Capacity& capacity = observer_.capacity();
  std::int64_t threads = capacity.threads;
  for (const Job& job : active) threads -= threads_of(job.needs, capacity);
  // Each job needs a thread: where none is free, only the first ones may begin, in place of others.
  const std::int64_t most = threads > 0 ? kMostLookedAt : kMostLookedAtWhereFull;
  return store_.ready(most, [this](const Job& job) { return could_begin(job); });
}

// Neither waits for its delay nor needs more than there is, which would hide those behind it for good.
bool Scheduler::could_begin(const Job& job) {
  if (delays_.has(job.id)) return false;
  const auto reason = exceeds(job, observer_.capacity());
  if (!reason.empty()) reasons_[job.id] = kCannotBeginHere + reason;
  return reason.empty();
}

base::Expected<Job> Scheduler::forecast_of(const Job& job) const {
  try {
    return forecasts_.forecast(job, forecasts_.run_file_of(job));
  } catch (const base::ConfigError& error) {
    return base::failure(error.what());
  }
}

// A few at a time, in their order; those behind them are not looked at yet.
void Scheduler::forecast_runs(std::vector<Job>& ready) {
  int left = kMostForecastAtOnce;
  std::vector<Job> known;
  for (Job& job : ready) {
    if (RunForecasts::is_missing(job)) {
      if (left-- == 0) {
        callbacks_.look_again();
        break;
      }
      auto forecast = forecast_of(job);
      if (!forecast) {
        callbacks_.ended(job.id, {.problem = forecast.error(), .checkpoint = job.checkpoint});
        continue;
      }
      job = std::move(*forecast);
      updates_.save(job);
    }
    known.push_back(std::move(job));
  }
  ready = std::move(known);
}

void Scheduler::look() {
  reasons_.clear();
  look_again_.cancel();
  const auto active = active_jobs();
  auto ready = startable(active);
  forecast_runs(ready);
  if (!ready.empty()) place_jobs(ready, active);
}

void Scheduler::place_jobs(const std::vector<Job>& ready, const std::vector<Job>& active) {
  const Machine machine = observer_.look(ready, active, [this](JobId id) { return attempts_.folder_of(id); });
  const Placement placement = place(ready, active, machine);
  for (const auto& wait : placement.waits) reasons_[wait.job] = wait.reason;
  for (const auto& one : placement.starts) start(*std::ranges::find(ready, one.job, &Job::id), one.gpus);
  make_room(placement, ready, active);
  if (placement.look_again) look_again_.start();
}

void Scheduler::make_room(const Placement& placement, const std::vector<Job>& ready, const std::vector<Job>& active) {
  made_room_.keep(ready);
  for (const JobId id : placement.yields) {
    if (made_room_.add(id, placement.yields_for)) yield(*std::ranges::find(active, id, &Job::id));
  }
}

void Scheduler::yield(Job job) {
  job.state = S::kStopping;
  job.purpose = StopPurpose::kYield;
  updates_.save(job);
  attempts_.stop(job.id);
}

void Scheduler::start(Job job, const std::vector<std::int64_t>& gpus) {
  try {
    if (auto wrong = wrong_run(job); !wrong.empty()) return callbacks_.ended(job.id, {.problem = std::move(wrong)});
    const std::string run_file = forecasts_.run_file_of(job);
    remove_records(attempts_.folder_of(job.id));  // of an attempt before, or of an earlier database's job
    job.state = S::kStarting;
    job.gpus = gpus;
    job.reason.clear();
    ++job.attempts;
    job.started_ms = asked_now(0, "").at_ms;
    updates_.save(job);
    attempts_.start(job, run_file, observer_.uuids_of(job.gpus));
  } catch (const base::ConfigError& error) {
    return callbacks_.ended(job.id, {.problem = error.what()});
  } catch (const base::IoError& error) {
    return callbacks_.ended(job.id, failed_start(error.error_number(), error.what()));
  } catch (const std::system_error& error) {
    return callbacks_.ended(job.id, failed_start(error.code().value(), error.what()));
  } catch (const boost::system::system_error& error) {
    return callbacks_.ended(job.id, failed_start(error.code().value(), error.what()));
  }
  job.state = S::kRunning;
  updates_.save(job);
}

}  // namespace esper::jobs
