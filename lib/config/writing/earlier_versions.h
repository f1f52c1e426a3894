#pragma once
// What a run of an earlier version did where this one has a choice. Its config.yaml lacks the field.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "config/run_config.h"

namespace esper::config {

// Sets the fields that the config.yaml of a run does not have to what its version did.
void apply_earlier_behaviour(RunConfig& config, const std::function<bool(std::string_view)>& is_given);

// Removes fields of the resolved JSON that say what earlier versions did, so that its hash is that of then.
void erase_earlier_behaviour(nlohmann::ordered_json& json);
// The other way round: adds the fields that are no more, where the JSON has their section, with the values they had
// where nobody had set them.
void add_removed_fields(nlohmann::ordered_json& json);

}  // namespace esper::config
