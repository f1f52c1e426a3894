#include "jobs/store/job_store.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/names.h"
#include "jobs/job/job_states.h"
#include "jobs/job/repeat.h"
#include "jobs/job/run_folder.h"
#include "jobs/store/dependencies.h"
#include "jobs/store/missing_row.h"
#include "jobs/store/run_folders.h"
#include "jobs/store/run_stamp.h"

namespace esper::jobs {
namespace {

// As SQL: the order of a list, the one by which its jobs are chosen, and that of jobs in one state, which an index has;
// empty: none has.
struct OrderTerms {
  std::string_view listed, chosen, of_state;
};
OrderTerms terms_of(JobOrder order) {
  constexpr std::string_view kByTurn = "state <> 'queued', priority DESC, id", kByEnd = "ended_ms DESC, id DESC";
  if (order == JobOrder::kBegin) return {kByTurn, kByTurn, "priority DESC, id"};
  if (order == JobOrder::kEnded) return {kByEnd, kByEnd, kByEnd};
  return {"id", "id DESC", ""};
}

std::string first_ids(std::string_view of_states, std::string_view order) {
  return fmt::format(
      "SELECT id FROM jobs WHERE (?1 = '' OR name = ?1) AND (?2 = 0 OR sweep = ?2){} ORDER BY {} LIMIT ?3", of_states,
      order);
}

std::string first_of_each_state(const JobFilter& filter, std::string_view order) {
  std::vector<std::string> of_states;
  for (const auto& [state, name] : names(JobState{})) {
    if (!filter.states.empty() && std::ranges::count(filter.states, state) == 0) continue;
    of_states.push_back(fmt::format("SELECT * FROM ({})", first_ids(fmt::format(" AND state = '{}'", name), order)));
  }
  return fmt::format("{}", fmt::join(of_states, " UNION ALL "));
}

std::string first_of_all(const JobFilter& filter, std::string_view order) {
  if (filter.states.empty()) return first_ids("", order);
  std::vector<std::string_view> names;
  for (const JobState state : filter.states) names.push_back(base::name_of(state));
  return first_ids(fmt::format(" AND state IN ('{}')", fmt::join(names, "', '")), order);
}

// SQL for the jobs that a list may have. The first ones of each state are what an index gives, so that only those are
// sorted; but to find a name or a sweep in it every job of the state is looked up, which takes longer than all in turn.
std::string chosen_ids(const JobFilter& filter, const OrderTerms& order) {
  const bool takes_any = filter.name.empty() && filter.sweep == 0;
  if (takes_any && !order.of_state.empty()) return first_of_each_state(filter, order.of_state);
  return first_of_all(filter, order.chosen);
}

// The time keeps jobs of another state folder, whose numbers are the same, apart.
std::string named_run(const Submission& submission, JobId id, std::int64_t at_ms) {
  if (!submission.run_dir.empty()) return submission.run_dir;
  return fmt::format("{}/{}-{}-job-{}", submission.runs_dir, submission.name, run_stamp(at_ms), id);
}

std::optional<JobId> id_of_token(Database& database, const std::string& token) {
  if (token.empty()) return std::nullopt;
  auto row = database.prepare("SELECT id FROM jobs WHERE token = ?");
  return row.bind(token).step() ? std::optional(row.integer(0)) : std::nullopt;
}

base::Expected<JobId> add_job(Database& database, const Submission& submission, const Asked& asked) {
  if (const auto made = id_of_token(database, submission.token)) return *made;
  if (auto why = why_not_after(database, 0, submission.after); !why.empty()) return base::failure(std::move(why));
  if (auto why = why_not_there(database, submission.run_dir); !why.empty()) return base::failure(std::move(why));
  const JobId id = insert_job(database, submission, asked);
  database.prepare("UPDATE jobs SET run_dir = ? WHERE id = ?")
      .bind(one_form(named_run(submission, id, asked.at_ms)))
      .bind(id)
      .run();
  database.prepare("INSERT INTO configs (job, yaml) VALUES (?, ?)").bind(id).bind(submission.config).run();
  set_dependencies(database, id, submission.after);
  add_to_audit(database, asked, id);
  return id;
}

}  // namespace

JobId JobStore::insert_trial(const Submission& submission, const Asked& asked) {
  ESPER_CHECK(submission.sweep != 0 && !submission.run_dir.empty(), "a trial is a sweep's, with a run folder");
  return insert_job(database_, submission, asked);
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
  if (submission.seeds.empty()) return id_of_token(database_, submission.token).has_value();
  return std::ranges::all_of(submission.seeds, [&](std::uint64_t seed) {
    const auto one = with_seed(submission, seed);
    return one && id_of_token(database_, one->token);
  });
}

base::Expected<std::vector<Job>> JobStore::submit(const Submission& submission, const Asked& asked) {
  Transaction transaction(database_);
  std::vector<Job> jobs;
  const auto add_one = [&](const Submission& one) -> base::Expected<void> {
    const auto id = add_job(database_, one, {asked.at_ms, asked.uid, asked.what, one.name});
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
  auto row = database_.prepare(fmt::format("SELECT {} FROM jobs WHERE id = ?", kJobColumns));
  row.bind(id);
  if (!row.step()) return std::nullopt;
  return job_in(row);
}

std::vector<Job> JobStore::list(const JobFilter& filter) {
  const OrderTerms order = terms_of(filter.order);
  auto rows = database_.prepare(fmt::format("SELECT {} FROM jobs WHERE id IN ({}) ORDER BY {} LIMIT ?3", kJobColumns,
                                            chosen_ids(filter, order), order.listed));
  rows.bind(filter.name).bind(filter.sweep).bind(filter.most);
  return jobs_in(rows, filter.parts);
}

std::vector<Job> JobStore::ready(std::int64_t most, const std::function<bool(const Job&)>& could_begin) {
  auto rows = database_.prepare(
      fmt::format("SELECT {} FROM jobs WHERE state = 'queued' AND unmet = 0 ORDER BY priority DESC, id", kJobColumns));
  std::vector<Job> jobs;
  while (std::ssize(jobs) < most && rows.step()) {
    Job job = job_in(rows);
    if (could_begin(job)) jobs.push_back(std::move(job));
  }
  return jobs;
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

void JobStore::save(const Job& job, const std::optional<Asked>& asked) {
  Transaction transaction(database_);
  const auto stored = find(job.id);
  ESPER_CHECK(stored, "jobs are never deleted");
  ESPER_CHECK(stored->state == job.state || may_move(stored->state, job.state),
              fmt::format("a job does not go from {} to {}", base::name_of(stored->state), base::name_of(job.state)));
  update_job(database_, job);
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
  update_job(database_, changed(*stored, change));
  if (change.config) database_.prepare("UPDATE configs SET yaml = ? WHERE job = ?").bind(*change.config).bind(id).run();
  add_to_audit(database_, asked, id);
  transaction.commit();
  return *find(id);
}

}  // namespace esper::jobs
