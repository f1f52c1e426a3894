#include "jobs/store/run_folders.h"

#include <fmt/core.h>

#include "jobs/job/run_folder.h"

namespace esper::jobs {
namespace {

constexpr const char* kNotEnded = "state NOT IN ('succeeded', 'failed', 'cancelled', 'diverged')";

}  // namespace

std::string why_not_there(Database& database, const std::string& run_dir) {
  if (run_dir.empty()) return "";
  auto row = database.prepare(fmt::format("SELECT id FROM jobs WHERE run_dir = ? AND {}", kNotEnded));
  if (!row.bind(one_form(run_dir)).step()) return "";
  return fmt::format("run_dir: {} is the run folder of job {}, which has not ended", run_dir, row.integer(0));
}

std::optional<JobId> later_owner(Database& database, const Job& job) {
  auto row = database.prepare(
      fmt::format("SELECT id FROM jobs WHERE run_dir = ? AND id > ? AND (attempts > 0 OR {})", kNotEnded));
  return row.bind(job.run_dir).bind(job.id).step() ? std::optional(row.integer(0)) : std::nullopt;
}

}  // namespace esper::jobs
