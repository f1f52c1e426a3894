#include "jobs/store/dependencies.h"

#include <fmt/core.h>

#include <string_view>

namespace esper::jobs {
namespace {

constexpr std::string_view kHopeless = "('failed', 'cancelled', 'diverged')";

bool exists(Database& database, JobId job) {
  auto row = database.prepare("SELECT 1 FROM jobs WHERE id = ?");
  return row.bind(job).step();
}

// Whether `later` comes after `first`, directly or over others.
bool comes_after(Database& database, JobId later, JobId first) {
  auto row = database.prepare(
      "WITH RECURSIVE before (id) AS (SELECT after FROM dependencies WHERE job = ? UNION "
      "SELECT dependencies.after FROM dependencies JOIN before ON dependencies.job = before.id) "
      "SELECT 1 FROM before WHERE id = ?");
  return row.bind(later).bind(first).step();
}

}  // namespace

std::string why_not_after(Database& database, JobId job, const std::vector<JobId>& after) {
  for (const JobId first : after) {
    if (!exists(database, first)) return fmt::format("there is no job {} to wait for", first);
    if (first == job) return fmt::format("job {} cannot come after itself", job);
    if (job != 0 && comes_after(database, first, job)) {
      return fmt::format("job {} cannot come after job {}, which comes after job {} already: neither would begin", job,
                         first, job);
    }
  }
  return "";
}

void set_dependencies(Database& database, JobId job, const std::vector<JobId>& after) {
  database.prepare("DELETE FROM dependencies WHERE job = ?").bind(job).run();
  for (const JobId first : after)
    database.prepare("INSERT OR IGNORE INTO dependencies (job, after) VALUES (?, ?)").bind(job).bind(first).run();
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

std::vector<JobId> without_hope(Database& database) {
  auto rows = database.prepare(
      fmt::format("SELECT id FROM jobs WHERE state = 'queued' AND unmet > 0 AND EXISTS (SELECT 1 FROM dependencies "
                  "JOIN jobs AS first ON first.id = dependencies.after WHERE dependencies.job = jobs.id AND "
                  "first.state IN {})",
                  kHopeless));
  return integers_in(rows);
}

bool is_without_hope(Database& database, JobId job) {
  auto row = database.prepare(
      fmt::format("SELECT 1 FROM dependencies JOIN jobs AS first ON first.id = dependencies.after WHERE "
                  "dependencies.job = ? AND first.state IN {}",
                  kHopeless));
  return row.bind(job).step();
}

std::vector<JobId> queued_after(Database& database, JobId job) {
  auto rows = database.prepare(
      "SELECT id FROM dependencies JOIN jobs ON jobs.id = dependencies.job WHERE dependencies.after = ? AND "
      "jobs.state = 'queued'");
  rows.bind(job);
  return integers_in(rows);
}

}  // namespace esper::jobs
