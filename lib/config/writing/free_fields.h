#pragma once
// The fields that a resumed run and a fork may change, since a training step computes the same with them; on another
// device it rounds differently, which a run reports.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/run_config.h"

namespace esper::config {

// Whether a run has to keep its epochs once it started: its cosine schedule ends with the last one, or its policy
// germinates after percentages of them.
bool epochs_are_fixed(const RunConfig& config);

// As of this version: `device.kind` is free, and so are the paths of training and validation data, as what they hold is
// identified by its fingerprint. Earlier versions had the device in their hash, still earlier ones the paths, too.
enum class FreeAsOf { kNow, kDeviceKept, kDeviceAndPathsKept };
// Removes them from the resolved JSON.
void erase_free_fields(const RunConfig& config, nlohmann::ordered_json& resolved, FreeAsOf version);

// "name, runs_dir, ..., and epochs unless ...", for messages.
std::string free_fields_text();

}  // namespace esper::config
