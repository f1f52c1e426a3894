#include "jobs/store/job_rows.h"

#include <nlohmann/json.hpp>

#include "base/names.h"
#include "jobs/store/stored_name.h"

namespace esper::jobs {
namespace {

// Of a column that only this room writes.
std::vector<std::int64_t> list_in(const Statement& row, int column) {
  const std::string text = row.text(column);
  if (text == "[]") return {};  // nearly always, and lists are long
  return nlohmann::json::parse(text).get<std::vector<std::int64_t>>();
}

config::RunForecast forecast_in(const Statement& row, int column) {
  const auto forecast = base::from_json<config::RunForecast>(nlohmann::json::parse(row.text(column)));
  if (!forecast) throw DatabaseError("database: forecast", SQLITE_CORRUPT, forecast.error());
  return *forecast;
}

std::string reason_to_hold(const Submission& submission) {
  if (!submission.hold) return "";
  return submission.sweep == 0 ? "submitted with --hold" : "waits for its turn in its sweep";
}

}  // namespace

Job job_in(const Statement& row, JobParts parts) {
  Job job;
  job.id = row.integer(0);
  job.name = row.text(1);
  job.state = stored_name<JobState>(row, 2);
  job.purpose = stored_name<StopPurpose>(row, 3);
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
  job.epochs = row.integer(22);
  job.after = list_in(row, 23);
  job.peak_bytes = row.integer(24);
  if (parts == JobParts::kAll) job.forecast = forecast_in(row, 25);
  return job;
}

std::vector<Job> jobs_in(Statement& rows, JobParts parts) {
  std::vector<Job> jobs;
  while (rows.step()) jobs.push_back(job_in(rows, parts));
  return jobs;
}

JobId insert_job(Database& database, const Submission& submission, const Asked& asked) {
  auto row = database.prepare(
      "INSERT INTO jobs (name, state, reason, priority, threads, memory_bytes, gpus, folder, run_dir, submitted_ms, "
      "uid, sweep, epochs, forecast, token) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  row.bind(submission.name)
      .bind(base::name_of(submission.hold ? JobState::kHeld : JobState::kQueued))
      .bind(reason_to_hold(submission))
      .bind(submission.priority)
      .bind(submission.needs.threads)
      .bind(submission.needs.memory_bytes)
      .bind(submission.needs.gpus)
      .bind(submission.folder)
      .bind(submission.run_dir)
      .bind(asked.at_ms)
      .bind(asked.uid)
      .bind(submission.sweep)
      .bind(submission.epochs)
      .bind(base::json_line(base::to_json(submission.forecast)))
      .bind_unless_empty(submission.token)
      .run();
  return database.last_id();
}

void update_job(Database& database, const Job& job) {
  auto row = database.prepare(
      "UPDATE jobs SET name = ?, state = ?, purpose = ?, reason = ?, priority = ?, threads = ?, memory_bytes = ?, gpus "
      "= "
      "?, assigned_gpus = ?, attempts = ?, interruptions = ?, cause = ?, checkpoint = ?, started_ms = ?, ended_ms = ?, "
      "epochs = ?, forecast = ?, peak_bytes = ?, exit_code = ? WHERE id = ?");
  row.bind(job.name)
      .bind(base::name_of(job.state))
      .bind(base::name_of(job.purpose))
      .bind(job.reason)
      .bind(job.priority)
      .bind(job.needs.threads)
      .bind(job.needs.memory_bytes)
      .bind(job.needs.gpus)
      .bind(integers_json(job.gpus))
      .bind(job.attempts)
      .bind(job.interruptions)
      .bind(job.cause)
      .bind(job.checkpoint)
      .bind(job.started_ms)
      .bind(job.ended_ms)
      .bind(job.epochs)
      .bind(base::json_line(base::to_json(job.forecast)))
      .bind(job.peak_bytes)
      .bind(job.exit_code)
      .bind(job.id)
      .run();
}

}  // namespace esper::jobs
