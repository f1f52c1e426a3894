#include "jobs/store/dependencies.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace esper::jobs {
namespace {

// As a condition on a row named first. A job that its sweep left paused ends in no other way than by its user.
constexpr std::string_view kUnsuccessful =
    "(first.state IN ('failed', 'cancelled', 'diverged') OR (first.state = 'paused' AND first.ended_ms > 0))";

std::optional<JobId> first_id(Statement& row) { return row.step() ? std::optional(row.integer(0)) : std::nullopt; }

// One of these that does not exist.
std::optional<JobId> unknown_among(Database& database, const std::vector<JobId>& jobs) {
  auto row = database.prepare(
      "SELECT given.value FROM json_each(?) AS given WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = given.value) "
      "LIMIT 1");
  row.bind(integers_json(jobs));
  return first_id(row);
}

// One of these that comes after `first`, directly or over others.
std::optional<JobId> later_among(Database& database, const std::vector<JobId>& jobs, JobId first) {
  auto row = database.prepare(
      "WITH RECURSIVE later (id) AS (SELECT job FROM dependencies WHERE after = ?1 UNION "
      "SELECT dependencies.job FROM dependencies JOIN later ON dependencies.after = later.id) "
      "SELECT given.value FROM json_each(?2) AS given WHERE given.value IN (SELECT later.id FROM later) LIMIT 1");
  row.bind(first).bind(integers_json(jobs));
  return first_id(row);
}

}  // namespace

std::string why_not_after(Database& database, JobId job, const std::vector<JobId>& after) {
  if (after.empty()) return "";
  if (const auto unknown = unknown_among(database, after))
    return fmt::format("there is no job {} to wait for", *unknown);
  if (job == 0) return "";  // nothing comes after it yet
  if (std::ranges::find(after, job) != after.end()) return fmt::format("job {} cannot come after itself", job);
  if (const auto later = later_among(database, after, job)) {
    return fmt::format("job {} cannot come after job {}, which comes after job {} already: neither would begin", job,
                       *later, job);
  }
  return "";
}

void set_dependencies(Database& database, JobId job, const std::vector<JobId>& after) {
  database.prepare("DELETE FROM dependencies WHERE job = ?").bind(job).run();
  if (!after.empty()) {
    database.prepare("INSERT OR IGNORE INTO dependencies (job, after) SELECT ?1, value FROM json_each(?2)")
        .bind(job)
        .bind(integers_json(after))
        .run();
  }
  database
      .prepare(
          "UPDATE jobs SET unmet = (SELECT count(*) FROM dependencies JOIN jobs AS first ON first.id = "
          "dependencies.after WHERE dependencies.job = ?1 AND first.state != 'succeeded') WHERE id = ?1")
      .bind(job)
      .run();
}

void count_success(Database& database, JobId job) {
  database.prepare("UPDATE jobs SET unmet = unmet - 1 WHERE id IN (SELECT job FROM dependencies WHERE after = ?)")
      .bind(job)
      .run();
}

std::vector<JobId> with_failed_dependency(Database& database) {
  auto rows = database.prepare(
      fmt::format("SELECT id FROM jobs WHERE state = 'queued' AND unmet > 0 AND EXISTS (SELECT 1 FROM dependencies "
                  "JOIN jobs AS first ON first.id = dependencies.after WHERE dependencies.job = jobs.id AND "
                  "{})",
                  kUnsuccessful));
  return integers_in(rows);
}

std::vector<JobId> unsuccessful_before(Database& database, JobId job) {
  auto rows = database.prepare(
      fmt::format("SELECT first.id FROM dependencies JOIN jobs AS first ON first.id = dependencies.after WHERE "
                  "dependencies.job = ? AND {} ORDER BY first.id",
                  kUnsuccessful));
  rows.bind(job);
  return integers_in(rows);
}

std::vector<JobId> queued_after(Database& database, JobId job) {
  auto rows = database.prepare(
      "SELECT id FROM dependencies JOIN jobs ON jobs.id = dependencies.job WHERE dependencies.after = ? AND "
      "jobs.state = 'queued'");
  rows.bind(job);
  return integers_in(rows);
}

bool UnfinishedJobs::has(JobId job) {
  const auto [place, is_new] = known_.try_emplace(job, false);
  if (is_new) {
    auto row = database_.prepare(fmt::format(
        "SELECT 1 FROM jobs AS first WHERE first.id = ? AND NOT {} AND first.state <> 'succeeded'", kUnsuccessful));
    place->second = row.bind(job).step();
  }
  return place->second;
}

std::vector<JobId> UnfinishedJobs::among(const std::vector<JobId>& jobs) {
  std::vector<JobId> found;
  std::ranges::copy_if(jobs, std::back_inserter(found), [&](JobId job) { return has(job); });
  std::ranges::sort(found);
  return found;
}

}  // namespace esper::jobs
