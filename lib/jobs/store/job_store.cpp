#include "jobs/store/job_store.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "jobs/job/job_states.h"

namespace esper::jobs {
namespace {

constexpr std::string_view kColumns =
    "id, name, state, purpose, reason, priority, threads, memory_bytes, gpus, assigned_gpus, folder, run_dir, "
    "attempts, "
    "interruptions, cause, checkpoint, exit_code, submitted_ms, started_ms, ended_ms, uid, sweep, "
    "(SELECT json_group_array(after) FROM dependencies WHERE job = jobs.id)";

constexpr std::string_view kHopeless = "('failed', 'cancelled', 'diverged')";

// Of a column that only this room writes.
std::vector<std::int64_t> list_in(const Statement& row, int column) {
  const std::string text = row.text(column);
  if (text == "[]") return {};  // nearly always, and lists are long
  return nlohmann::json::parse(text).get<std::vector<std::int64_t>>();
}

template <class Enum>
Enum name_in(const Statement& row, int column) {
  const auto value = base::from_name<Enum>(row.text(column));
  if (!value) throw DatabaseError("database: unknown name " + row.text(column), SQLITE_CORRUPT, "damaged row");
  return *value;
}

Job job_of(const Statement& row) {
  Job job;
  job.id = row.integer(0);
  job.name = row.text(1);
  job.state = name_in<JobState>(row, 2);
  job.purpose = name_in<StopPurpose>(row, 3);
  job.reason = row.text(4);
  job.priority = row.integer(5);
  job.needs = {.threads = row.integer(6), .memory_bytes = row.integer(7), .gpus = row.integer(8)};
  job.gpus = list_in(row, 9);
  job.folder = row.text(10);
  job.run_dir = row.text(11);
  job.attempts = row.integer(12);
  job.interruptions = row.integer(13);
  job.cause = row.text(14);
  job.checkpoint = row.text(15);
  if (!row.is_nothing(16)) job.exit_code = static_cast<int>(row.integer(16));
  job.submitted_ms = row.integer(17);
  job.started_ms = row.integer(18);
  job.ended_ms = row.integer(19);
  job.uid = row.integer(20);
  job.sweep = row.integer(21);
  job.after = list_in(row, 22);
  return job;
}

std::string named_run(const Submission& submission, JobId id) {
  if (!submission.run_dir.empty()) return submission.run_dir;
  return fmt::format("{}/{}-job-{}", submission.runs_dir, submission.name, id);
}

}  // namespace

std::vector<Job> JobStore::read_all(Statement& rows) {
  std::vector<Job> jobs;
  while (rows.step()) jobs.push_back(job_of(rows));
  return jobs;
}

std::vector<JobId> JobStore::read_ids(Statement& rows) {
  std::vector<JobId> ids;
  while (rows.step()) ids.push_back(rows.integer(0));
  return ids;
}

void JobStore::note(const Asked& asked, JobId job, JobState state) {
  database_.prepare("INSERT INTO audit (at_ms, uid, what, job, state, details) VALUES (?, ?, ?, ?, ?, ?)")
      .bind(asked.at_ms)
      .bind(asked.uid)
      .bind(asked.what)
      .bind(job)
      .bind(base::name_of(state))
      .bind(asked.details)
      .run();
}

void JobStore::insert(const Submission& submission, const Asked& asked) {
  auto row = database_.prepare(
      "INSERT INTO jobs (name, state, reason, priority, threads, memory_bytes, gpus, folder, run_dir, submitted_ms, "
      "uid, "
      "sweep, token) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', ?, ?, ?, ?)");
  row.bind(submission.name)
      .bind(base::name_of(submission.hold ? JobState::kHeld : JobState::kQueued))
      .bind(submission.hold ? "submitted with --hold" : "")
      .bind(submission.priority)
      .bind(submission.needs.threads)
      .bind(submission.needs.memory_bytes)
      .bind(submission.needs.gpus)
      .bind(submission.folder)
      .bind(asked.at_ms)
      .bind(asked.uid)
      .bind(submission.sweep);
  if (submission.token.empty()) {
    row.bind_nothing();
  } else {
    row.bind(submission.token);
  }
  row.run();
}

base::Expected<Job> JobStore::submit(const Submission& submission, const Asked& asked) {
  Transaction transaction(database_);
  if (!submission.token.empty()) {
    auto known = database_.prepare("SELECT id FROM jobs WHERE token = ?");
    known.bind(submission.token);
    if (known.step()) return *find(known.integer(0));
  }
  for (const JobId after : submission.after) {
    const auto first = find(after);
    if (!first) return base::failure(fmt::format("there is no job {} to wait for", after));
  }
  insert(submission, asked);
  const JobId id = database_.last_id();
  database_.prepare("UPDATE jobs SET run_dir = ? WHERE id = ?").bind(named_run(submission, id)).bind(id).run();
  database_.prepare("INSERT INTO configs (job, yaml) VALUES (?, ?)").bind(id).bind(submission.config).run();
  for (const JobId after : submission.after)
    database_.prepare("INSERT OR IGNORE INTO dependencies (job, after) VALUES (?, ?)").bind(id).bind(after).run();
  if (!submission.after.empty()) {
    database_
        .prepare("UPDATE jobs SET unmet = (SELECT count(*) FROM dependencies JOIN jobs AS first ON first.id = "
                 "dependencies.after WHERE dependencies.job = ?1 AND first.state != 'succeeded') WHERE id = ?1")
        .bind(id)
        .run();
  }
  note(asked, id, submission.hold ? JobState::kHeld : JobState::kQueued);
  transaction.commit();
  return *find(id);
}

std::optional<Job> JobStore::find(JobId id) {
  auto row = database_.prepare(fmt::format("SELECT {} FROM jobs WHERE id = ?", kColumns));
  row.bind(id);
  if (!row.step()) return std::nullopt;
  return job_of(row);
}

std::vector<Job> JobStore::list(const JobFilter& filter) {
  std::vector<std::string_view> names;
  for (const JobState state : filter.states) names.push_back(base::name_of(state));
  auto rows = database_.prepare(
      fmt::format("SELECT {} FROM jobs WHERE (?1 = '' OR name = ?1) AND (?2 = 0 OR sweep = ?2){} ORDER BY id LIMIT ?3",
                  kColumns, names.empty() ? "" : fmt::format(" AND state IN ('{}')", fmt::join(names, "', '"))));
  rows.bind(filter.name).bind(filter.sweep).bind(filter.most);
  return read_all(rows);
}

std::vector<Job> JobStore::ready(std::int64_t most) {
  auto rows = database_.prepare(fmt::format(
      "SELECT {} FROM jobs WHERE state = 'queued' AND unmet = 0 ORDER BY priority DESC, id LIMIT ?",
      kColumns));
  rows.bind(most);
  return read_all(rows);
}

std::vector<JobId> JobStore::without_hope() {
  auto rows = database_.prepare(
      fmt::format("SELECT id FROM jobs WHERE state = 'queued' AND unmet > 0 AND EXISTS (SELECT 1 FROM dependencies "
                  "JOIN jobs AS first ON first.id = dependencies.after WHERE dependencies.job = jobs.id AND "
                  "first.state IN {})",
                  kHopeless));
  return read_ids(rows);
}

bool JobStore::is_without_hope(JobId id) {
  auto row = database_.prepare(
      fmt::format("SELECT 1 FROM dependencies JOIN jobs AS first ON first.id = dependencies.after WHERE "
                  "dependencies.job = ? AND first.state IN {}",
                  kHopeless));
  return row.bind(id).step();
}

std::vector<JobId> JobStore::queued_after(JobId id) {
  auto rows = database_.prepare(
      "SELECT id FROM dependencies JOIN jobs ON jobs.id = dependencies.job WHERE dependencies.after = ? AND "
      "jobs.state = 'queued'");
  rows.bind(id);
  return read_ids(rows);
}

std::int64_t JobStore::count(JobState state) const {
  auto row = database_.prepare("SELECT count(*) FROM jobs WHERE state = ?");
  row.bind(base::name_of(state)).step();
  return row.integer(0);
}

std::string JobStore::config_of(JobId id) {
  auto row = database_.prepare("SELECT yaml FROM configs WHERE job = ?");
  row.bind(id);
  ESPER_CHECK(row.step(), "each job has a run file");
  return row.text(0);
}

void JobStore::save(const Job& job, const std::optional<Asked>& asked) {
  Transaction transaction(database_);
  const auto stored = find(job.id);
  ESPER_CHECK(stored, "jobs are never deleted");
  ESPER_CHECK(stored->state == job.state || may_move(stored->state, job.state),
              fmt::format("a job does not go from {} to {}", base::name_of(stored->state), base::name_of(job.state)));
  auto row = database_.prepare(
      "UPDATE jobs SET name = ?, state = ?, purpose = ?, reason = ?, priority = ?, threads = ?, memory_bytes = ?, gpus "
      "= ?, "
      "assigned_gpus = ?, attempts = ?, interruptions = ?, cause = ?, checkpoint = ?, started_ms = ?, ended_ms = ?, "
      "exit_code = ? WHERE id = ?");
  row.bind(job.name)
      .bind(base::name_of(job.state))
      .bind(base::name_of(job.purpose))
      .bind(job.reason)
      .bind(job.priority)
      .bind(job.needs.threads)
      .bind(job.needs.memory_bytes)
      .bind(job.needs.gpus)
      .bind(nlohmann::json(job.gpus).dump())
      .bind(job.attempts)
      .bind(job.interruptions)
      .bind(job.cause)
      .bind(job.checkpoint)
      .bind(job.started_ms)
      .bind(job.ended_ms);
  if (job.exit_code) {
    row.bind(std::int64_t{*job.exit_code});
  } else {
    row.bind_nothing();
  }
  row.bind(job.id).run();
  if (job.state == JobState::kSucceeded && stored->state != job.state) {
    database_.prepare("UPDATE jobs SET unmet = unmet - 1 WHERE id IN (SELECT job FROM dependencies WHERE after = ?)")
        .bind(job.id)
        .run();
  }
  if (asked) note(*asked, job.id, job.state);
  transaction.commit();
}

}  // namespace esper::jobs
