#include "jobs/sweeps/sweeps.h"

#include <fmt/core.h>
#include <unistd.h>

#include "base/names.h"
#include "base/text/problem.h"
#include "jobs/store/sweep_jobs.h"
#include "jobs/sweeps/rung_end.h"
#include "jobs/sweeps/sweep_expansion.h"
#include "jobs/sweeps/sweep_plan.h"
#include "nissa/log.h"

namespace esper::jobs {
namespace {

Asked by_daemon(std::int64_t now_ms, std::string details) {
  return {now_ms, static_cast<std::int64_t>(::getuid()), "daemon", std::move(details)};
}

void add_each_to_audit(Database& database, const Asked& asked, const std::vector<JobId>& jobs) {
  for (const JobId job : jobs) add_to_audit(database, asked, job);
}

// Nothing, with a warning, where this version does not take the stored files any more, or some of what is stored is
// lost.
template <class Read>
auto try_read(SweepId id, const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const base::ConfigError& error) {
    nissa::log::warning(fmt::format("sweep {} cannot continue: {}", id, error.what()));
    return std::nullopt;
  }
}

std::shared_ptr<const LoadedSweep> try_load(StoredSweeps& stored, SweepId id) {
  return try_read(id, [&] { return stored.load(id); }).value_or(nullptr);
}

}  // namespace

Sweeps::Sweeps(JobStore& jobs)
    : jobs_(jobs), store_(jobs.database()), trials_(jobs.database()), stored_(jobs.database()) {}

SweepRecord Sweeps::submit(const SweepSubmission& submission, const Asked& asked) {
  Transaction transaction(jobs_.database());
  if (!submission.token.empty())
    if (const auto known = store_.find_token(submission.token)) return *known;
  const auto made = expand_into(jobs_, submission, asked);
  transaction.commit();
  changed_.insert(made.jobs.begin(), made.jobs.end());
  touch(made.id);
  return *store_.find(made.id);
}

base::Expected<SweepRecord> Sweeps::existing(SweepId id) {
  auto sweep = store_.find(id);
  if (!sweep) return base::failure(fmt::format("there is no sweep {}", id));
  return *sweep;
}

base::Expected<SweepRecord> Sweeps::cancel(SweepId id, const Asked& asked) {
  const auto sweep = existing(id);
  if (!sweep) return sweep;
  Transaction transaction(jobs_.database());
  const auto changed = cancel_jobs_of(jobs_.database(), id, asked.at_ms);
  const bool has_ended = sweep->state == SweepState::kEnded || sweep->state == SweepState::kCancelled;
  if (has_ended && changed.empty()) {
    return base::failure(
        fmt::format("sweep {} is {}, and no job of it is left to cancel", id, base::name_of(sweep->state)));
  }
  add_each_to_audit(jobs_.database(), {asked.at_ms, asked.uid, asked.what, fmt::format("cancelled with sweep {}", id)},
                    changed);
  store_.save_state(id, SweepState::kCancelled, asked.at_ms);
  add_to_audit(jobs_.database(), {asked.at_ms, asked.uid, asked.what, fmt::format("sweep {}", id)}, std::nullopt);
  transaction.commit();
  changed_.insert(changed.begin(), changed.end());
  return *store_.find(id);
}

base::Expected<SweepRecord> Sweeps::resume(SweepId id, const Asked& asked) {
  const auto sweep = existing(id);
  if (!sweep) return sweep;
  if (sweep->state != SweepState::kHeld)
    return base::failure(fmt::format("sweep {} is {}, not held", id, base::name_of(sweep->state)));
  Transaction transaction(jobs_.database());
  store_.save_state(id, SweepState::kActive, 0);
  add_to_audit(jobs_.database(), {asked.at_ms, asked.uid, asked.what, fmt::format("sweep {}", id)}, std::nullopt);
  transaction.commit();
  touch(id);
  return *store_.find(id);
}

void Sweeps::recover() {
  for (const SweepId id : store_.undecided()) touch(id);
}

std::vector<Job> Sweeps::drive(std::int64_t now_ms) {
  while (!due_.empty()) {  // those that cannot be written stay due
    const SweepId id = *due_.begin();
    if (const auto sweep = store_.find(id)) drive_one(*sweep, now_ms);
    due_.erase(id);
  }
  std::vector<Job> jobs;
  for (const JobId id : changed_) jobs.push_back(*jobs_.find(id));
  changed_.clear();
  return jobs;
}

void Sweeps::drive_one(const SweepRecord& record, std::int64_t now_ms) {
  const bool has_steps = record.state == SweepState::kActive || record.state == SweepState::kEnded;
  std::vector<JobId> changed;
  Transaction transaction(jobs_.database());
  trials_.record_begun(record.id);
  const auto resumed = resumed_jobs_of(jobs_.database(), record.id);
  const bool is_needed = has_steps || !resumed.empty();
  if (const auto loaded = is_needed ? try_load(stored_, record.id) : nullptr) {
    train_on(jobs_.database(), resumed, epochs_of_rung(loaded->sweep, num_rungs(loaded->sweep) - 1));
    if (has_steps) changed = take_steps(record, loaded->sweep, now_ms);
    changed.insert(changed.end(), resumed.begin(), resumed.end());
  }
  transaction.commit();
  changed_.insert(changed.begin(), changed.end());
  if (const auto state = store_.state_of(record.id); state != record.state)
    nissa::log::info(fmt::format("sweep {} is {}", record.id, base::name_of(state)));
}

std::vector<JobId> Sweeps::take_steps(const SweepRecord& record, const sweep::Sweep& sweep, std::int64_t now_ms) {
  const auto plan = try_read(record.id, [&] { return plan_sweep(sweep, stored_.trials_of(record.id)); });
  if (!plan) return {};
  trials_.make_due(plan->due);
  auto changed = trials_.begin(plan->begin);
  add_each_to_audit(jobs_.database(), by_daemon(now_ms, fmt::format("its turn in sweep {}", record.id)), changed);
  if (plan->has_ended) {
    const auto left = leave_paused(jobs_.database(), record.id, now_ms);
    changed.insert(changed.end(), left.begin(), left.end());
  }
  const SweepState state = plan->has_ended ? SweepState::kEnded : SweepState::kActive;
  if (state != record.state) store_.save_state(record.id, state, plan->has_ended ? now_ms : 0);
  return changed;
}

void Sweeps::save_rung(Job& job, const SweepTrial& trial, const sweep::Sweep& sweep, StopPurpose stopped_for,
                       std::optional<double> result) {
  if (was_left_by_sweep(job, trial, sweep)) return;
  if (result) {
    trials_.save_result(trial, *result);
  } else {
    trials_.remove_result(trial);
  }
  if (job.state == JobState::kSucceeded && !is_last_rung(trial, sweep))
    stop_at_rung(job, stopped_for, store_.state_of(job.sweep));
}

void Sweeps::save_end(Job& job, StopPurpose stopped_for, const Asked& asked) {
  const auto trial = trials_.find(job.id);
  const bool is_at_rung = job.state == JobState::kSucceeded || job.state == JobState::kPaused;
  const auto loaded = trial && is_at_rung ? try_load(stored_, job.sweep) : nullptr;
  // Before the transaction: nobody waits for the run's file system.
  const auto result = loaded ? result_at_rung(job, *trial, loaded->sweep, stopped_for) : std::nullopt;
  Transaction transaction(jobs_.database());
  if (loaded) save_rung(job, *trial, loaded->sweep, stopped_for, result);
  jobs_.save(job, asked);
  transaction.commit();
  touch(job.sweep);
}

}  // namespace esper::jobs
