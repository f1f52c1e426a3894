#pragma once
// Jobs as text. Pure functions.

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace esper {

// One line for each job of a list as the daemon gives it, under a line of titles.
std::string job_table(const nlohmann::json& jobs);
// All that is known of one job.
std::string job_details(const nlohmann::json& job);

}  // namespace esper
