#pragma once
// What a run came to. Any thread; reads the file system.

#include <string>

#include "config/training_config.h"

namespace esper::jobs {

// The metric of the last validation, from the run's summary.json; NaN where there is none.
double figure_of_run(const std::string& run_dir, config::Metric metric);

}  // namespace esper::jobs
