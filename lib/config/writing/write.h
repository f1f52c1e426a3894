#pragma once
// A RunConfig as text, and what identifies it.

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "config/run_config.h"

namespace esper::config {

// Every field, defaults included, in declared order; loads back to an equal config.
std::string resolved_yaml(const RunConfig& config);
// The fields that were given alone, as a run file that extends nothing. With further assignments it loads to what the
// files with these load to, which a resolved one need not: defaults follow other fields where they were not given.
std::string given_yaml(const RunConfig& config, const std::function<bool(std::string_view path)>& is_given);
nlohmann::ordered_json resolved_json(const RunConfig& config);

// FNV-1a (64 bit) of the resolved JSON, the same on every machine.
std::uint64_t config_hash(const RunConfig& config);
// The same without what a training step does not depend on (free_fields.h). A run may be resumed if this is equal.
std::uint64_t training_hash(const RunConfig& config);
// As checkpoints of earlier versions hold it: with device.kind, and with data.path and data.validation_path, too.
std::vector<std::uint64_t> earlier_training_hashes(const RunConfig& config);

}  // namespace esper::config
