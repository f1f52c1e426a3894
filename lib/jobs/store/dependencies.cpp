#include "jobs/store/dependencies.h"

#include <fmt/core.h>

namespace esper::jobs {
namespace {

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
}

}  // namespace esper::jobs
