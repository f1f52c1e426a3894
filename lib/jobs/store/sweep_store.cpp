#include "jobs/store/sweep_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/names.h"
#include "jobs/store/missing_row.h"
#include "jobs/store/stored_name.h"

namespace esper::jobs {
namespace {

constexpr std::string_view kSweepColumns = "id, name, state, folder, run_dir, submitted_ms, ended_ms, uid";

// One row for each result, and one for a trial without any.
constexpr std::string_view kTrials =
    "SELECT trials.job, configuration, seed, trials.rung, turn, jobs.state, results.rung, value FROM trials JOIN jobs "
    "ON "
    "jobs.id = trials.job LEFT JOIN results ON results.job = trials.job";

// But for the numbers of its jobs.
SweepRecord sweep_in(const Statement& row) {
  return {.id = row.integer(0),
          .name = row.text(1),
          .state = stored_name<SweepState>(row, 2),
          .folder = row.text(3),
          .run_dir = row.text(4),
          .submitted_ms = row.integer(5),
          .ended_ms = row.integer(6),
          .uid = row.integer(7)};
}

}  // namespace

SweepId SweepStore::insert(const SweepRecord& sweep, const SweepSubmission& submission) {
  auto row = database_.prepare(
      "INSERT INTO sweeps (name, state, sweep_text, run_text, folder, run_dir, submitted_ms, uid, token) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  row.bind(sweep.name)
      .bind(base::name_of(sweep.state))
      .bind(submission.sweep)
      .bind(submission.run_file)
      .bind(sweep.folder)
      .bind(sweep.run_dir)
      .bind(sweep.submitted_ms)
      .bind(sweep.uid)
      .bind_unless_empty(submission.token)
      .run();
  return database_.last_id();
}

void SweepStore::add_trial(SweepId sweep, const SweepTrial& trial) {
  database_.prepare("INSERT INTO trials (job, sweep, configuration, seed, rung, turn) VALUES (?, ?, ?, ?, ?, ?)")
      .bind(trial.job)
      .bind(sweep)
      .bind(static_cast<std::int64_t>(trial.configuration))
      .bind(static_cast<std::int64_t>(trial.seed))
      .bind(static_cast<std::int64_t>(trial.rung))
      .bind(base::name_of(trial.turn))
      .run();
}

void SweepStore::count_jobs(std::span<SweepRecord> sweeps) {
  if (sweeps.empty()) return;
  auto counts = database_.prepare(
      "SELECT sweep, state, count(*) FROM jobs WHERE sweep != 0 AND sweep BETWEEN ? AND ? GROUP BY sweep, state");
  counts.bind(sweeps.front().id).bind(sweeps.back().id);
  while (counts.step()) {
    const auto sweep = std::ranges::lower_bound(sweeps, counts.integer(0), {}, &SweepRecord::id);
    const bool is_lost = sweep == sweeps.end() || sweep->id != counts.integer(0);  // as missing_row() has it
    if (!is_lost) sweep->jobs[counts.text(1)] = counts.integer(2);
  }
}

std::optional<SweepRecord> SweepStore::first_in(Statement& rows) {
  if (!rows.step()) return std::nullopt;
  SweepRecord sweep = sweep_in(rows);
  count_jobs(std::span(&sweep, 1));
  return sweep;
}

std::optional<SweepRecord> SweepStore::find(SweepId id) {
  auto row = database_.prepare(fmt::format("SELECT {} FROM sweeps WHERE id = ?", kSweepColumns));
  row.bind(id);
  return first_in(row);
}

std::optional<SweepRecord> SweepStore::find_token(const std::string& token) {
  auto row = database_.prepare(fmt::format("SELECT {} FROM sweeps WHERE token = ?", kSweepColumns));
  row.bind(token);
  return first_in(row);
}

bool SweepStore::has_run_dir(const std::string& run_dir) {
  auto row = database_.prepare("SELECT 1 FROM sweeps WHERE run_dir = ?");
  row.bind(run_dir);
  return row.step();
}

std::vector<SweepRecord> SweepStore::list(std::int64_t most) {
  auto rows = database_.prepare(fmt::format("SELECT {} FROM sweeps ORDER BY id DESC LIMIT ?", kSweepColumns));
  rows.bind(most);
  std::vector<SweepRecord> sweeps;
  while (rows.step()) sweeps.push_back(sweep_in(rows));
  std::ranges::reverse(sweeps);
  count_jobs(sweeps);
  return sweeps;
}

SweepState SweepStore::state_of(SweepId id) {
  auto row = database_.prepare("SELECT state FROM sweeps WHERE id = ?");
  ESPER_CHECK(row.bind(id).step(), "sweeps are never deleted");
  return stored_name<SweepState>(row, 0);
}

// Active ones; others whose user lets a job run again; and ended ones of an earlier version, which did not mark the
// jobs that they left paused.
std::vector<SweepId> SweepStore::undecided() {
  auto rows = database_.prepare(
      "SELECT id FROM sweeps WHERE state = 'active' UNION SELECT sweep FROM jobs WHERE sweep != 0 AND "
      "(state = 'queued' OR (state = 'paused' AND ended_ms = 0))");
  return integers_in(rows);
}

SweepStore::Texts SweepStore::texts_of(SweepId id) {
  auto row = database_.prepare("SELECT sweep_text, run_text FROM sweeps WHERE id = ?");
  row.bind(id);
  if (!row.step()) throw missing_row(fmt::format("sweep {}", id));
  return {row.text(0), row.text(1)};
}

std::vector<SweepTrial> SweepStore::read_trials(Statement& rows) {
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

std::vector<SweepTrial> SweepStore::trials_of(SweepId id) {
  auto rows =
      database_.prepare(fmt::format("{} WHERE trials.sweep = ? ORDER BY configuration, seed, results.rung", kTrials));
  rows.bind(id);
  return read_trials(rows);
}

std::optional<SweepTrial> SweepStore::trial_of(JobId job) {
  auto rows = database_.prepare(fmt::format("{} WHERE trials.job = ? ORDER BY results.rung", kTrials));
  rows.bind(job);
  const auto trials = read_trials(rows);
  return trials.empty() ? std::nullopt : std::optional(trials.front());
}

void SweepStore::save_state(SweepId id, SweepState state, std::int64_t ended_ms) {
  database_.prepare("UPDATE sweeps SET state = ?, ended_ms = ? WHERE id = ?")
      .bind(base::name_of(state))
      .bind(ended_ms)
      .bind(id)
      .run();
}

void SweepStore::save_result(const SweepTrial& trial, double value) {
  database_.prepare("INSERT OR REPLACE INTO results (job, rung, value) VALUES (?, ?, ?)")
      .bind(trial.job)
      .bind(static_cast<std::int64_t>(trial.rung))
      .bind_real(value)
      .run();
}

void SweepStore::remove_result(const SweepTrial& trial) {
  database_.prepare("DELETE FROM results WHERE job = ? AND rung = ?")
      .bind(trial.job)
      .bind(static_cast<std::int64_t>(trial.rung))
      .run();
}

void SweepStore::make_due(const std::vector<SweepStep>& steps) {
  if (steps.empty()) return;
  auto trial = database_.prepare("UPDATE trials SET turn = 'due', rung = ? WHERE job = ?");
  auto job = database_.prepare("UPDATE jobs SET epochs = ? WHERE id = ?");
  for (const SweepStep& step : steps) {
    trial.bind(static_cast<std::int64_t>(step.rung)).bind(step.job).run();
    job.bind(step.epochs).bind(step.job).run();
  }
}

void SweepStore::record_begun(SweepId id) {
  database_
      .prepare(
          "UPDATE trials SET turn = 'begun' WHERE sweep = ? AND turn != 'begun' AND (SELECT state FROM jobs WHERE id = "
          "trials.job) NOT IN ('held', 'paused')")
      .bind(id)
      .run();
}

std::vector<JobId> SweepStore::begin(const std::vector<JobId>& jobs) {
  if (jobs.empty()) return {};
  const std::string list = integers_json(jobs);
  database_.prepare("UPDATE trials SET turn = 'begun' WHERE job IN (SELECT value FROM json_each(?))").bind(list).run();
  auto queued = database_.prepare(
      "UPDATE jobs SET state = 'queued', reason = '', ended_ms = 0 WHERE state IN ('held', 'paused') AND id IN (SELECT "
      "value FROM json_each(?)) RETURNING id");
  queued.bind(list);
  return integers_in(queued);
}

std::vector<JobId> SweepStore::leave_paused(SweepId id, std::int64_t at_ms) {
  auto paused = database_.prepare(
      "UPDATE jobs SET ended_ms = ?, reason = replace(reason, ?, 'its sweep has ended without it: esper job resume ' "
      "|| "
      "id || ' trains it on') WHERE sweep = ? AND sweep != 0 AND state = 'paused' AND ended_ms = 0 RETURNING id");
  paused.bind(at_ms).bind(kMayGoOn).bind(id);
  return integers_in(paused);
}

std::vector<JobId> SweepStore::resumed(SweepId id) {
  auto rows =
      database_.prepare("SELECT id FROM jobs WHERE sweep = ? AND sweep != 0 AND state = 'queued' AND ended_ms > 0");
  rows.bind(id);
  return integers_in(rows);
}

void SweepStore::train_on(const std::vector<JobId>& jobs, std::int64_t epochs) {
  if (jobs.empty()) return;
  database_.prepare("UPDATE jobs SET epochs = ?, ended_ms = 0 WHERE id IN (SELECT value FROM json_each(?))")
      .bind(epochs)
      .bind(integers_json(jobs))
      .run();
}

std::vector<JobId> SweepStore::cancel_jobs(SweepId id, std::int64_t at_ms) {
  auto waiting = database_.prepare(
      "UPDATE jobs SET state = 'cancelled', reason = 'cancelled with its sweep', ended_ms = ? WHERE sweep = ? AND "
      "sweep != 0 AND state IN ('held', 'queued', 'paused') RETURNING id");
  waiting.bind(at_ms).bind(id);
  auto changed = integers_in(waiting);
  auto running = database_.prepare(
      "UPDATE jobs SET state = 'stopping', purpose = 'cancel' WHERE sweep = ? AND sweep != 0 AND purpose != 'cancel' "
      "AND state IN ('starting', 'running', 'stopping') RETURNING id");
  running.bind(id);
  const auto stopping = integers_in(running);
  changed.insert(changed.end(), stopping.begin(), stopping.end());
  return changed;
}

}  // namespace esper::jobs
