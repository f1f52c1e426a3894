#pragma once
// The fields that a resumed run and a fork may change, since no number of a training step follows from them.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/run_config.h"

namespace esper::config {

// Whether a run has to keep its epochs once it started: its cosine schedule ends with the last one, or its policy
// germinates after percentages of them.
bool epochs_are_fixed(const RunConfig& config);

enum class DataPaths { kKept, kErased };
// Removes them from the resolved JSON. The paths of training and validation data are free, as what they hold is
// identified by its fingerprint.
void erase_free_fields(const RunConfig& config, nlohmann::ordered_json& resolved, DataPaths paths);

// "name, runs_dir, ..., and epochs unless ...", for messages.
std::string free_fields_text();

}  // namespace esper::config
