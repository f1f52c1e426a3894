#include "jobs/store/trial_store.h"

#include <fmt/core.h>

#include <limits>
#include <string>
#include <string_view>

#include "base/names.h"
#include "jobs/store/stored_name.h"

namespace esper::jobs {
namespace {

// One row for each result, and one for a trial without any.
constexpr std::string_view kTrials =
    "SELECT trials.job, configuration, seed, trials.rung, turn, jobs.state, results.rung, value FROM trials JOIN jobs "
    "ON jobs.id = trials.job LEFT JOIN results ON results.job = trials.job";

std::vector<SweepTrial> trials_in(Statement& rows) {
  std::vector<SweepTrial> trials;
  while (rows.step()) {
    if (trials.empty() || trials.back().job != rows.integer(0)) {
      trials.push_back({.job = rows.integer(0),
                        .configuration = static_cast<std::size_t>(rows.integer(1)),
                        .seed = static_cast<std::size_t>(rows.integer(2)),
                        .rung = static_cast<std::size_t>(rows.integer(3)),
                        .turn = stored_name<Turn>(rows, 4),
                        .state = stored_name<JobState>(rows, 5)});
    }
    if (rows.is_nothing(6)) continue;
    trials.back().results.push_back(rows.is_nothing(7) ? std::numeric_limits<double>::quiet_NaN() : rows.real(7));
  }
  return trials;
}

}  // namespace

void TrialStore::add(SweepId sweep, const SweepTrial& trial) {
  database_.prepare("INSERT INTO trials (job, sweep, configuration, seed, rung, turn) VALUES (?, ?, ?, ?, ?, ?)")
      .bind(trial.job)
      .bind(sweep)
      .bind(static_cast<std::int64_t>(trial.configuration))
      .bind(static_cast<std::int64_t>(trial.seed))
      .bind(static_cast<std::int64_t>(trial.rung))
      .bind(base::name_of(trial.turn))
      .run();
}

std::vector<SweepTrial> TrialStore::of_sweep(SweepId sweep) {
  auto rows =
      database_.prepare(fmt::format("{} WHERE trials.sweep = ? ORDER BY configuration, seed, results.rung", kTrials));
  rows.bind(sweep);
  return trials_in(rows);
}

std::optional<SweepTrial> TrialStore::find(JobId job) {
  auto rows = database_.prepare(fmt::format("{} WHERE trials.job = ? ORDER BY results.rung", kTrials));
  rows.bind(job);
  const auto trials = trials_in(rows);
  return trials.empty() ? std::nullopt : std::optional(trials.front());
}

void TrialStore::save_result(const SweepTrial& trial, double value) {
  database_.prepare("INSERT OR REPLACE INTO results (job, rung, value) VALUES (?, ?, ?)")
      .bind(trial.job)
      .bind(static_cast<std::int64_t>(trial.rung))
      .bind_real(value)
      .run();
}

void TrialStore::remove_result(const SweepTrial& trial) {
  database_.prepare("DELETE FROM results WHERE job = ? AND rung = ?")
      .bind(trial.job)
      .bind(static_cast<std::int64_t>(trial.rung))
      .run();
}

void TrialStore::make_due(const std::vector<SweepStep>& steps) {
  if (steps.empty()) return;
  auto trial = database_.prepare("UPDATE trials SET turn = 'due', rung = ? WHERE job = ?");
  auto job = database_.prepare("UPDATE jobs SET epochs = ? WHERE id = ?");
  for (const SweepStep& step : steps) {
    trial.bind(static_cast<std::int64_t>(step.rung)).bind(step.job).run();
    job.bind(step.epochs).bind(step.job).run();
  }
}

std::vector<JobId> TrialStore::begin(const std::vector<JobId>& jobs) {
  if (jobs.empty()) return {};
  const std::string list = integers_json(jobs);
  database_.prepare("UPDATE trials SET turn = 'begun' WHERE job IN (SELECT value FROM json_each(?))").bind(list).run();
  auto queued = database_.prepare(
      "UPDATE jobs SET state = 'queued', reason = '', ended_ms = 0 WHERE state IN ('held', 'paused') AND id IN (SELECT "
      "value FROM json_each(?)) RETURNING id");
  queued.bind(list);
  return integers_in(queued);
}

void TrialStore::record_begun(SweepId sweep) {
  database_
      .prepare(
          "UPDATE trials SET turn = 'begun' WHERE sweep = ? AND turn != 'begun' AND (SELECT state FROM jobs WHERE id = "
          "trials.job) NOT IN ('held', 'paused')")
      .bind(sweep)
      .run();
}

}  // namespace esper::jobs
