#pragma once
// Says before a run begins what it may run short of.

#include "base/file_system.h"
#include "engine/workbench.h"

namespace esper::engine {

// Warns where the forecast of the run (config/facts/run_forecast.h) exceeds the memory that this process may take, or
// the space on the disk of the run folder. The run begins all the same: forecasts are from above, and what becomes of
// a lack is in docs/runbook.md.
void warn_of_shortage(const Workbench& bench, base::FileSystem& files, const std::string& run_folder);

}  // namespace esper::engine
