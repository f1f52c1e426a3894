#pragma once
// Jobs as the daemon's documents have them. Any thread.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "jobs/job/job.h"

namespace esper {

// "/v1/jobs/12", "/v1/jobs/12/cancel"
std::string job_target(std::int64_t job, const std::string& what = "");

// Throw Error{kBug} for a document that this program does not understand.
jobs::JobState state_of(const nlohmann::json& job);
bool has_ended(const nlohmann::json& job);
// Of a job that has ended: as `esper train` would have ended; 130 for one that was cancelled, or that its sweep left
// unfinished.
int exit_code_of(const nlohmann::json& job);

// "1, 2, 7"
std::string ids_text(const std::vector<std::int64_t>& jobs);

}  // namespace esper
