#pragma once
// A RunConfig as text, and what identifies it.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/run_config.h"

namespace esper::config {

// Every field, defaults included, in declared order; loads back to an equal config.
std::string resolved_yaml(const RunConfig& config);
nlohmann::ordered_json resolved_json(const RunConfig& config);

// FNV-1a (64 bit) of the resolved JSON, the same on every machine.
std::uint64_t config_hash(const RunConfig& config);
// The same without what does not change the numbers of a step: name, runs_dir, safety, telemetry, checkpoint, the
// loader's threads, settings of policies that do not decide, epochs unless they are fixed, and the paths of the data:
// training and validation data are identified by their fingerprint, and test data are not trained on. A run may be
// resumed if this is equal.
std::uint64_t training_hash(const RunConfig& config);
// Whether a run has to keep its epochs once it started: its cosine schedule ends with the last one, or its policy
// germinates after percentages of them.
bool epochs_are_fixed(const RunConfig& config);
// The same with data.path and data.validation_path, as checkpoints held it before their data could move.
std::uint64_t located_training_hash(const RunConfig& config);

}  // namespace esper::config
