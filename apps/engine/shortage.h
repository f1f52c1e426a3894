#pragma once
// What a run may run short of, before it begins.

#include <vector>

#include "base/file_system.h"
#include "engine/training_setup.h"
#include "tolaria/report/run_report.h"

namespace esper::engine {

// Where the forecast of the run (config/facts/run_forecast.h) exceeds the memory that this process may take, or the
// space on the disk of the run folder. The run begins all the same: forecasts are from above, and what becomes of a
// lack is in docs/runbook.md.
std::vector<tolaria::Shortage> forecast_shortages(const TrainingSetup& setup, base::FileSystem& files,
                                                  const std::string& run_folder);

}  // namespace esper::engine
