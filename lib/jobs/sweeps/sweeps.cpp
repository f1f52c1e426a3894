#include "jobs/sweeps/sweeps.h"

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "base/names.h"
#include "base/text/problem.h"
#include "jobs/job/job_states.h"
#include "jobs/store/missing_row.h"
#include "jobs/store/run_stamp.h"
#include "jobs/sweeps/trial_figure.h"
#include "nissa/log.h"
#include "sweep/halving.h"
#include "sweep/run_file.h"
#include "sweep/sweep_file.h"

namespace esper::jobs {
namespace {

constexpr std::size_t kMostLoaded = 16;

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

// The threads of a configuration, which may be one of its parameters.
std::int64_t threads_in(const sweep::Sweep& sweep, const sweep::Configuration& configuration, std::int64_t threads) {
  for (std::size_t at = 0; at < configuration.size(); ++at)
    if (sweep.parameters[at].key == "device.threads") return std::stoll(configuration[at]);
  return threads;
}

Asked by_daemon(std::int64_t now_ms, std::string details) {
  return {now_ms, static_cast<std::int64_t>(::getuid()), "daemon", std::move(details)};
}

void add_each_to_audit(Database& database, const Asked& asked, const std::vector<JobId>& jobs) {
  for (const JobId job : jobs) add_to_audit(database, asked, job);
}

// It has trained to its rung, which is not the last one.
void stop_at_rung(Job& job, StopPurpose stopped_for, SweepState sweep) {
  const std::string reached = fmt::format("trained to epoch {}; ", job.epochs);
  if (stopped_for == StopPurpose::kCancel) {
    job.state = JobState::kCancelled;
    job.reason = reached + "cancelled by the user";
    return;
  }
  job.state = JobState::kPaused;
  if (stopped_for == StopPurpose::kPause) {
    job.reason = reached + "paused by the user";
    job.ended_ms = 0;
  } else if (sweep == SweepState::kCancelled) {
    job.reason = reached + fmt::format("its sweep was cancelled: esper job resume {} trains it on", job.id);
  } else {
    job.reason = reached + std::string(kMayGoOn);
    job.ended_ms = 0;
  }
}

bool is_last_rung(const SweepTrial& trial, const sweep::Sweep& sweep) { return trial.rung + 1 == num_rungs(sweep); }

bool was_left_by_sweep(const Job& job, const SweepTrial& trial, const sweep::Sweep& sweep) {
  return job.epochs > epochs_of_rung(sweep, trial.rung);
}

// What the job came to at its rung; nothing: it has not reached it, or is not to be judged by it.
std::optional<double> result_of(const Job& job, const SweepTrial& trial, const sweep::Sweep& sweep,
                                StopPurpose stopped_for) {
  const bool has_reached_it = job.state == JobState::kSucceeded && !was_left_by_sweep(job, trial, sweep);
  if (!has_reached_it || (!is_last_rung(trial, sweep) && stopped_for == StopPurpose::kPause)) return std::nullopt;
  return figure_of_run(job.run_dir, sweep.settings.metric, job.epochs);
}

}  // namespace

Sweeps::Loaded Sweeps::read(const std::string& sweep, const std::string& run_file) {
  auto read = sweep::read_stored_sweep({sweep, run_file}, 0);
  if (!read.problems.empty()) throw base::ConfigError(std::move(read.problems));
  auto configurations = sweep::configurations(read.sweep);
  return {std::move(read.sweep), std::move(configurations)};
}

Sweeps::Shared Sweeps::load(SweepId id) {
  if (const auto known = loaded_.find(id); known != loaded_.end()) return known->second;
  const auto texts = store_.texts_of(id);
  if (loaded_.size() >= kMostLoaded) loaded_.clear();
  return loaded_[id] = std::make_shared<const Loaded>(read(texts.sweep, texts.run_file));
}

Sweeps::Shared Sweeps::try_load(SweepId id) {
  try {
    return load(id);
  } catch (const base::ConfigError& error) {
    nissa::log::warning(fmt::format("sweep {} cannot go on: {}", id, error.what()));
    return nullptr;
  }
}

std::vector<SweepTrial> Sweeps::all_trials_of(SweepId id, const Loaded& loaded) {
  auto trials = store_.trials_of(id);
  if (trials.size() != loaded.configurations.size() * loaded.sweep.seeds.size())
    throw missing_row(fmt::format("a job of sweep {}", id));
  return trials;
}

std::optional<SweepPlan> Sweeps::try_plan(SweepId id, const Loaded& loaded) {
  try {
    return plan_sweep(loaded.sweep, all_trials_of(id, loaded));
  } catch (const base::ConfigError& error) {
    nissa::log::warning(fmt::format("sweep {} cannot go on: {}", id, error.what()));
    return std::nullopt;
  }
}

SweepRecord Sweeps::submit(const SweepSubmission& submission, const Asked& asked) {
  Transaction transaction(jobs_.database());
  if (!submission.token.empty())
    if (const auto known = store_.find_token(submission.token)) return *known;
  const Loaded loaded = read(submission.sweep, submission.run_file);
  const std::string& name = loaded.sweep.settings.name;
  SweepRecord record{
      .name = name,
      .state = submission.hold ? SweepState::kHeld : SweepState::kActive,
      .folder = submission.folder,
      .run_dir = free_run_dir(fmt::format("{}/{}-{}", submission.runs_dir, name, run_stamp(asked.at_ms))),
      .submitted_ms = asked.at_ms,
      .uid = asked.uid};
  record.id = store_.insert(record, submission);
  const auto made = insert_jobs(record, loaded, submission, asked);
  add_to_audit(jobs_.database(), {asked.at_ms, asked.uid, asked.what, fmt::format("sweep {}: {}", record.id, name)},
               std::nullopt);
  transaction.commit();
  changed_.insert(made.begin(), made.end());
  touch(record.id);
  return *store_.find(record.id);
}

// A job continues the run that it finds in its folder: none of another sweep may be there.
std::string Sweeps::free_run_dir(const std::string& wanted) {
  std::string free = wanted;
  for (int number = 2; is_there(free) || store_.has_run_dir(free); ++number)
    free = fmt::format("{}-{}", wanted, number);
  return free;
}

std::vector<JobId> Sweeps::insert_jobs(const SweepRecord& record, const Loaded& loaded,
                                       const SweepSubmission& submission, const Asked& asked) {
  const sweep::Sweep& sweep = loaded.sweep;
  const Turn turn = sweep.settings.method == sweep::Method::kHalving ? Turn::kIdle : Turn::kDue;
  const std::int64_t threads = sweep::read_with(sweep, {}).config.device.threads;
  Submission job{.folder = record.folder, .priority = submission.priority, .hold = true, .sweep = record.id};
  job.epochs = epochs_of_rung(sweep, 0);
  job.needs.gpus = submission.gpus;
  std::vector<JobId> ids;
  for (std::size_t at = 0; at < loaded.configurations.size(); ++at) {
    job.needs.threads = threads_in(sweep, loaded.configurations[at], threads);
    for (std::size_t seed = 0; seed < sweep.seeds.size(); ++seed) {
      job.name = fmt::format("{}-{}-seed-{}", record.name, at, sweep.seeds[seed]);
      job.run_dir = fmt::format("{}/{:04}-seed-{}", record.run_dir, at, sweep.seeds[seed]);
      const JobId made = jobs_.insert_trial(job, asked);
      store_.add_trial(record.id, {.job = made, .configuration = at, .seed = seed, .turn = turn});
      ids.push_back(made);
    }
  }
  return ids;
}

SweepReport Sweeps::report(SweepId id) {
  const auto loaded = load(id);
  const auto progress = progress_of(loaded->sweep, all_trials_of(id, *loaded));
  return {*store_.find(id), sweep::summarize(loaded->sweep, progress)};
}

base::Expected<BestConfiguration> Sweeps::best(SweepId id) {
  const auto best = report(id).summary.best;
  if (!best) return base::failure(fmt::format("sweep {}: no configuration has all of its seeds yet", id));
  return BestConfiguration{*best, sweep::best_run_file(load(id)->sweep, *best)};
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
  const auto changed = store_.cancel_jobs(id, asked.at_ms);
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
  store_.record_begun(record.id);
  const auto resumed = store_.resumed(record.id);
  const bool is_needed = has_steps || !resumed.empty();
  if (const auto loaded = is_needed ? try_load(record.id) : nullptr) {
    store_.train_on(resumed, epochs_of_rung(loaded->sweep, num_rungs(loaded->sweep) - 1));
    if (has_steps) changed = take_steps(record, *loaded, now_ms);
    changed.insert(changed.end(), resumed.begin(), resumed.end());
  }
  transaction.commit();
  changed_.insert(changed.begin(), changed.end());
  if (const auto state = store_.state_of(record.id); state != record.state)
    nissa::log::info(fmt::format("sweep {} is {}", record.id, base::name_of(state)));
}

std::vector<JobId> Sweeps::take_steps(const SweepRecord& record, const Loaded& loaded, std::int64_t now_ms) {
  const auto plan = try_plan(record.id, loaded);
  if (!plan) return {};
  store_.make_due(plan->due);
  auto changed = store_.begin(plan->begin);
  add_each_to_audit(jobs_.database(), by_daemon(now_ms, fmt::format("its turn in sweep {}", record.id)), changed);
  if (plan->has_ended) {
    const auto left = store_.leave_paused(record.id, now_ms);
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
    store_.save_result(trial, *result);
  } else {
    store_.remove_result(trial);
  }
  if (job.state == JobState::kSucceeded && !is_last_rung(trial, sweep))
    stop_at_rung(job, stopped_for, store_.state_of(job.sweep));
}

void Sweeps::save_end(Job& job, StopPurpose stopped_for, const Asked& asked) {
  const auto trial = store_.trial_of(job.id);
  const bool is_at_rung = job.state == JobState::kSucceeded || job.state == JobState::kPaused;
  const auto loaded = trial && is_at_rung ? try_load(job.sweep) : nullptr;
  // Before the transaction: nobody waits for the run's file system.
  const auto result = loaded ? result_of(job, *trial, loaded->sweep, stopped_for) : std::nullopt;
  Transaction transaction(jobs_.database());
  if (loaded) save_rung(job, *trial, loaded->sweep, stopped_for, result);
  jobs_.save(job, asked);
  transaction.commit();
  touch(job.sweep);
}

std::string Sweeps::run_file_of(const Job& job) {
  const auto trial = store_.trial_of(job.id);
  if (!trial) throw missing_row(fmt::format("the place of job {} in its sweep", job.id));
  const auto loaded = load(job.sweep);
  const auto epochs = job.epochs > 0 ? std::optional(static_cast<int>(job.epochs)) : std::nullopt;
  return sweep::trial_run_file(loaded->sweep, loaded->configurations.at(trial->configuration),
                               loaded->sweep.seeds.at(trial->seed), epochs);
}

}  // namespace esper::jobs
