#pragma once
// What the time of a training step depends on, out of a run's configuration.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/run_config.h"

namespace esper::config {

// {hash: 16 digits, fields: {"data.batch_size": 4, ...}}. Left out: names and folders, epochs, step.lane, what a run
// reports, saves and waits for, and the compiler's cache and limits.
nlohmann::ordered_json workload_json(const RunConfig& config);

// The fields in which two of them differ: "data.batch_size: 4 against 8, and 2 more"; empty if their hashes are equal,
// or would be without fields that were removed since.
std::string workload_difference(const nlohmann::ordered_json& kept, const nlohmann::ordered_json& now);

}  // namespace esper::config
