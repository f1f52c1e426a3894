#pragma once
// From a run folder to its record. Any thread; safe while the run writes.

#include <string>

#include "runs/run_record.h"

namespace esper::runs {

// Reads what the run's process published, with bounded sizes and without following links below the folder; takes no
// lock and writes nothing. Never throws for what lies in the folder: what cannot be read makes the record kDamaged,
// with the reason. `folder` is a run folder by is_run_folder() (find_runs.h); of others the record is kDamaged as well.
RunRecord read_run_record(const std::string& folder);

}  // namespace esper::runs
