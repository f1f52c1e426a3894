#pragma once
// Sweeps as text and JSON. Pure functions.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "jobs/job/sweep_record.h"
#include "sweep/sweep.h"

namespace esper {

// What would be trained: jobs, rungs, and a table of the configurations.
std::string sweep_preview(const sweep::Sweep& sweep);
nlohmann::json sweep_preview_json(const sweep::Sweep& sweep);

// One line for each sweep, under a line of titles.
std::string sweep_table(const std::vector<jobs::SweepRecord>& sweeps);
// "2 running, 7 queued"
std::string job_counts(const jobs::SweepRecord& sweep);

}  // namespace esper
