#pragma once
// What a run came to. Any thread; reads the file system.

#include <cstdint>
#include <string>

#include "config/training_config.h"

namespace esper::jobs {

// The metric of the last validation of a run that has ended by itself: from its summary.json or, where that could not
// be written, its newest checkpoint. epochs: that it was to train to, at least; 0: as its run file says. NaN, with a
// warning, where neither has it. Throws base::IoError where one of them cannot be read now: that may pass.
double figure_of_run(const std::string& run_dir, config::Metric metric, std::int64_t epochs);

}  // namespace esper::jobs
