#include "esper/queue/job_run.h"

#include <nlohmann/json.hpp>
#include <string>

#include "base/text/json_fields.h"
#include "runs/find_runs.h"
#include "runs/read_run_record.h"

namespace esper {

std::optional<runs::RunRecord> run_of_job(const nlohmann::json& job) {
  const std::string folder = base::text_at(job, "run_dir");
  if (!runs::is_run_folder(folder)) return std::nullopt;
  auto record = runs::read_run_record(folder);
  const auto of_sweep = base::number_at<std::int64_t>(job, "epochs").value_or(0);
  if (of_sweep > 0) record.planned_epochs = of_sweep;
  return record;
}

}  // namespace esper
