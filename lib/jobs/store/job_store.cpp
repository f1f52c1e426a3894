#include "jobs/store/job_store.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "jobs/job/job_states.h"
#include "jobs/job/repeat.h"
#include "jobs/store/dependencies.h"
#include "jobs/store/run_folders.h"
#include "jobs/store/run_stamp.h"
#include "jobs/store/stored_name.h"

namespace esper::jobs {
namespace {

constexpr std::string_view kColumns =
    "id, name, state, purpose, reason, priority, threads, memory_bytes, gpus, assigned_gpus, folder, run_dir, "
    "attempts, "
    "interruptions, cause, checkpoint, exit_code, submitted_ms, started_ms, ended_ms, uid, sweep, epochs, "
    "(SELECT json_group_array(after) FROM dependencies WHERE job = jobs.id), peak_bytes, forecast";

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

Job job_of(const Statement& row, JobParts parts = JobParts::kAll) {
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

// As SQL: how jobs are chosen, and how those are listed.
struct OrderTerms {
  std::string_view chosen, listed;
};
OrderTerms terms_of(JobOrder order) {
  constexpr std::string_view kByTurn = "state <> 'queued', priority DESC, id", kByEnd = "ended_ms DESC, id DESC";
  if (order == JobOrder::kBegin) return {kByTurn, kByTurn};
  if (order == JobOrder::kEnded) return {kByEnd, kByEnd};
  return {"id DESC", "id"};
}

std::string reason_to_hold(const Submission& submission) {
  if (!submission.hold) return "";
  return submission.sweep == 0 ? "submitted with --hold" : "waits for its turn in its sweep";
}

// The time keeps jobs of another state folder, whose numbers are the same, apart.
std::string named_run(const Submission& submission, JobId id, std::int64_t at_ms) {
  if (!submission.run_dir.empty()) return submission.run_dir;
  return fmt::format("{}/{}-{}-job-{}", submission.runs_dir, submission.name, run_stamp(at_ms), id);
}

}  // namespace

base::ConfigError missing_row(const std::string& what) {
  return base::ConfigError({{.place = {.file = "jobs.db"}, .path = "", .text = what + " is missing"}});
}

std::vector<Job> JobStore::read_all(Statement& rows, JobParts parts) {
  std::vector<Job> jobs;
  while (rows.step()) jobs.push_back(job_of(rows, parts));
  return jobs;
}

JobId JobStore::insert(const Submission& submission, const Asked& asked) {
  auto row = database_.prepare(
      "INSERT INTO jobs (name, state, reason, priority, threads, memory_bytes, gpus, folder, run_dir, submitted_ms, "
      "uid, "
      "sweep, epochs, forecast, token) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
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
      .bind(base::json_line(base::to_json(submission.forecast)));
  if (submission.token.empty()) {
    row.bind_nothing();
  } else {
    row.bind(submission.token);
  }
  row.run();
  return database_.last_id();
}

JobId JobStore::insert_trial(const Submission& submission, const Asked& asked) {
  ESPER_CHECK(submission.sweep != 0 && !submission.run_dir.empty(), "a trial is a sweep's, with a run folder");
  return insert(submission, asked);
}

std::optional<JobId> JobStore::known(const std::string& token) {
  if (token.empty()) return std::nullopt;
  auto row = database_.prepare("SELECT id FROM jobs WHERE token = ?");
  return row.bind(token).step() ? std::optional(row.integer(0)) : std::nullopt;
}

void JobStore::begin_after(JobId last) {
  auto sequence = database_.prepare("SELECT max(seq) FROM sqlite_sequence WHERE name = 'jobs'");
  sequence.step();
  if (last <= (sequence.is_nothing(0) ? 0 : sequence.integer(0))) return;
  const char* const change = sequence.is_nothing(0) ? "INSERT INTO sqlite_sequence (name, seq) VALUES ('jobs', ?)"
                                                    : "UPDATE sqlite_sequence SET seq = ? WHERE name = 'jobs'";
  Transaction transaction(database_);
  database_.prepare(change).bind(last).run();
  transaction.commit();
}

bool JobStore::knows(const Submission& submission) {
  if (submission.seeds.empty()) return known(submission.token).has_value();
  return std::ranges::all_of(submission.seeds, [&](std::uint64_t seed) {
    const auto one = with_seed(submission, seed);
    return one && known(one->token);
  });
}

base::Expected<JobId> JobStore::add(const Submission& submission, const Asked& asked) {
  if (const auto made = known(submission.token)) return *made;
  if (auto why = why_not_after(database_, 0, submission.after); !why.empty()) return base::failure(std::move(why));
  if (auto why = why_not_there(database_, submission.run_dir); !why.empty()) return base::failure(std::move(why));
  const JobId id = insert(submission, asked);
  database_.prepare("UPDATE jobs SET run_dir = ? WHERE id = ?")
      .bind(one_form(named_run(submission, id, asked.at_ms)))
      .bind(id)
      .run();
  database_.prepare("INSERT INTO configs (job, yaml) VALUES (?, ?)").bind(id).bind(submission.config).run();
  set_dependencies(database_, id, submission.after);
  add_to_audit(database_, asked, id);
  return id;
}

base::Expected<std::vector<Job>> JobStore::submit(const Submission& submission, const Asked& asked) {
  Transaction transaction(database_);
  std::vector<Job> jobs;
  const auto add_one = [&](const Submission& one) -> base::Expected<void> {
    const auto id = add(one, {asked.at_ms, asked.uid, asked.what, one.name});
    if (!id) return base::failure(id.error());
    jobs.push_back(*find(*id));
    return {};
  };
  if (submission.seeds.empty()) {
    if (const auto added = add_one(submission); !added) return base::failure(added.error());
  }
  for (const auto seed : submission.seeds) {  // one at a time: each has a run file of its own
    const auto one = with_seed(submission, seed);
    if (!one) return base::failure("config: needs a line \"seed: N\", as resolved run files have");
    if (const auto added = add_one(*one); !added) return base::failure(added.error());
  }
  transaction.commit();
  return jobs;
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
  const OrderTerms order = terms_of(filter.order);
  auto rows = database_.prepare(
      fmt::format("SELECT {0} FROM jobs WHERE id IN (SELECT id FROM jobs WHERE (?1 = '' OR name = ?1) AND "
                  "(?2 = 0 OR sweep = ?2){1} ORDER BY {2} LIMIT ?3) ORDER BY {3}",
                  kColumns, names.empty() ? "" : fmt::format(" AND state IN ('{}')", fmt::join(names, "', '")),
                  order.chosen, order.listed));
  rows.bind(filter.name).bind(filter.sweep).bind(filter.most);
  return read_all(rows, filter.parts);
}

std::vector<Job> JobStore::ready(std::int64_t most, std::int64_t skipped) {
  auto rows = database_.prepare(fmt::format(
      "SELECT {} FROM jobs WHERE state = 'queued' AND unmet = 0 ORDER BY priority DESC, id LIMIT ? OFFSET ?",
      kColumns));
  rows.bind(most).bind(skipped);
  return read_all(rows);
}

std::int64_t JobStore::count(JobState state) const {
  auto row = database_.prepare("SELECT count(*) FROM jobs WHERE state = ?");
  row.bind(base::name_of(state)).step();
  return row.integer(0);
}

std::vector<std::pair<JobId, JobState>> JobStore::unfinished() {
  std::vector<std::pair<JobId, JobState>> jobs;
  for (const auto& [state, name] : names(JobState{})) {
    if (is_terminal(state)) continue;
    auto row = database_.prepare("SELECT id FROM jobs WHERE state = ?");
    row.bind(name);
    while (row.step()) jobs.emplace_back(row.integer(0), state);
  }
  return jobs;
}

std::string JobStore::config_of(JobId id) {
  auto row = database_.prepare("SELECT yaml FROM configs WHERE job = ?");
  row.bind(id);
  if (!row.step()) throw missing_row(fmt::format("the run file of job {}", id));
  return row.text(0);
}

void JobStore::update(const Job& job) {
  auto row = database_.prepare(
      "UPDATE jobs SET name = ?, state = ?, purpose = ?, reason = ?, priority = ?, threads = ?, memory_bytes = ?, gpus "
      "= ?, "
      "assigned_gpus = ?, attempts = ?, interruptions = ?, cause = ?, checkpoint = ?, started_ms = ?, ended_ms = ?, "
      "epochs = ?, forecast = ?, peak_bytes = ?, exit_code = ? WHERE id = ?");
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
      .bind(job.ended_ms)
      .bind(job.epochs)
      .bind(base::json_line(base::to_json(job.forecast)))
      .bind(job.peak_bytes);
  if (job.exit_code) {
    row.bind(std::int64_t{*job.exit_code});
  } else {
    row.bind_nothing();
  }
  row.bind(job.id).run();
}

void JobStore::save(const Job& job, const std::optional<Asked>& asked) {
  Transaction transaction(database_);
  const auto stored = find(job.id);
  ESPER_CHECK(stored, "jobs are never deleted");
  ESPER_CHECK(stored->state == job.state || may_move(stored->state, job.state),
              fmt::format("a job does not go from {} to {}", base::name_of(stored->state), base::name_of(job.state)));
  update(job);
  if (job.state == JobState::kSucceeded && stored->state != job.state) count_success(database_, job.id);
  if (asked) add_to_audit(database_, *asked, job.id);
  transaction.commit();
}

base::Expected<Job> JobStore::edit(JobId id, const JobChange& change, const Asked& asked) {
  Transaction transaction(database_);
  const auto stored = find(id);
  if (!stored) return base::failure(fmt::format("there is no job {}", id));
  if (auto why = why_not(*stored, change); !why.empty()) return base::failure(std::move(why));
  if (change.after) {
    if (auto why = why_not_after(database_, id, change.after->ids); !why.empty()) return base::failure(std::move(why));
    set_dependencies(database_, id, change.after->ids);
  }
  update(changed(*stored, change));
  if (change.config) database_.prepare("UPDATE configs SET yaml = ? WHERE job = ?").bind(*change.config).bind(id).run();
  add_to_audit(database_, asked, id);
  transaction.commit();
  return *find(id);
}

}  // namespace esper::jobs
