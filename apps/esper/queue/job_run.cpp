#include "esper/queue/job_run.h"

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/text/json_fields.h"
#include "runs/changed_epochs.h"
#include "runs/find_runs.h"
#include "runs/read_run_record.h"

namespace esper {
namespace {

bool has_readable_changes(const std::string& run) {
  try {
    (void)runs::changed_epochs(run);
    return true;
  } catch (const base::Error&) {
    return false;
  }
}

}  // namespace

std::optional<runs::RunRecord> run_of_job(const nlohmann::json& job) {
  const std::string folder = base::text_at(job, "run_dir");
  if (!runs::is_run_folder(folder)) return std::nullopt;
  auto record = runs::read_run_record(folder);
  const auto of_sweep = base::number_at<std::int64_t>(job, "epochs").value_or(0);
  if (of_sweep > 0) record.planned_epochs = of_sweep;
  return record;
}

std::int64_t planned_epochs_of(const nlohmann::json& job, std::int64_t of_run_file) {
  const auto run = run_of_job(job);
  if (run && run->planned_epochs) return *run->planned_epochs;
  return run && !has_readable_changes(run->path) ? 0 : of_run_file;
}

}  // namespace esper
