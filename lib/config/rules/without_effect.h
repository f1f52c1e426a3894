#pragma once
// Settings that change nothing beside the others. Any thread.

#include <functional>
#include <string_view>

#include "config/run_config.h"

namespace esper::config {

// Of those that were given. No mistakes: one run file may serve several values of the setting that they go with, as a
// sweep over it has them.
Findings settings_without_effect(const RunConfig& config, const std::function<bool(std::string_view path)>& is_given);

}  // namespace esper::config
