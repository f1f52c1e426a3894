#include "jobs/store/sweep_store.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/names.h"
#include "jobs/store/missing_row.h"
#include "jobs/store/stored_name.h"

namespace esper::jobs {
namespace {

constexpr std::string_view kSweepColumns = "id, name, state, folder, run_dir, submitted_ms, ended_ms, uid";

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

// Into each of these, which are all sweeps from the first one to the last one.
void count_jobs(Database& database, std::span<SweepRecord> sweeps) {
  if (sweeps.empty()) return;
  auto counts = database.prepare(
      "SELECT sweep, state, count(*) FROM jobs WHERE sweep != 0 AND sweep BETWEEN ? AND ? GROUP BY sweep, state");
  counts.bind(sweeps.front().id).bind(sweeps.back().id);
  while (counts.step()) {
    const auto sweep = std::ranges::lower_bound(sweeps, counts.integer(0), {}, &SweepRecord::id);
    const bool is_lost = sweep == sweeps.end() || sweep->id != counts.integer(0);  // as missing_row() has it
    if (!is_lost) sweep->jobs[counts.text(1)] = counts.integer(2);
  }
}

std::optional<SweepRecord> first_in(Database& database, Statement& rows) {
  if (!rows.step()) return std::nullopt;
  SweepRecord sweep = sweep_in(rows);
  count_jobs(database, std::span(&sweep, 1));
  return sweep;
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

std::optional<SweepRecord> SweepStore::find(SweepId id) {
  auto row = database_.prepare(fmt::format("SELECT {} FROM sweeps WHERE id = ?", kSweepColumns));
  row.bind(id);
  return first_in(database_, row);
}

std::optional<SweepRecord> SweepStore::find_token(const std::string& token) {
  auto row = database_.prepare(fmt::format("SELECT {} FROM sweeps WHERE token = ?", kSweepColumns));
  row.bind(token);
  return first_in(database_, row);
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
  count_jobs(database_, sweeps);
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

void SweepStore::save_state(SweepId id, SweepState state, std::int64_t ended_ms) {
  database_.prepare("UPDATE sweeps SET state = ?, ended_ms = ? WHERE id = ?")
      .bind(base::name_of(state))
      .bind(ended_ms)
      .bind(id)
      .run();
}

}  // namespace esper::jobs
