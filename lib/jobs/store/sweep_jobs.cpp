#include "jobs/store/sweep_jobs.h"

namespace esper::jobs {

std::vector<JobId> leave_paused(Database& database, SweepId sweep, std::int64_t at_ms) {
  auto paused = database.prepare(
      "UPDATE jobs SET ended_ms = ?, reason = replace(reason, ?, 'its sweep has ended without it: esper job resume ' "
      "|| id || ' continues it') WHERE sweep = ? AND sweep != 0 AND state = 'paused' AND ended_ms = 0 RETURNING id");
  paused.bind(at_ms).bind(kMayGoOn).bind(sweep);
  return integers_in(paused);
}

std::vector<JobId> resumed_jobs_of(Database& database, SweepId sweep) {
  auto rows =
      database.prepare("SELECT id FROM jobs WHERE sweep = ? AND sweep != 0 AND state = 'queued' AND ended_ms > 0");
  rows.bind(sweep);
  return integers_in(rows);
}

void train_on(Database& database, const std::vector<JobId>& jobs, std::int64_t epochs) {
  if (jobs.empty()) return;
  database.prepare("UPDATE jobs SET epochs = ?, ended_ms = 0 WHERE id IN (SELECT value FROM json_each(?))")
      .bind(epochs)
      .bind(integers_json(jobs))
      .run();
}

std::vector<JobId> cancel_jobs_of(Database& database, SweepId sweep, std::int64_t at_ms) {
  auto waiting = database.prepare(
      "UPDATE jobs SET state = 'cancelled', reason = 'cancelled with its sweep', ended_ms = ? WHERE sweep = ? AND "
      "sweep != 0 AND state IN ('held', 'queued', 'paused') RETURNING id");
  waiting.bind(at_ms).bind(sweep);
  auto changed = integers_in(waiting);
  auto running = database.prepare(
      "UPDATE jobs SET state = 'stopping', purpose = 'cancel' WHERE sweep = ? AND sweep != 0 AND purpose != 'cancel' "
      "AND state IN ('starting', 'running', 'stopping') RETURNING id");
  running.bind(sweep);
  const auto stopping = integers_in(running);
  changed.insert(changed.end(), stopping.begin(), stopping.end());
  return changed;
}

}  // namespace esper::jobs
