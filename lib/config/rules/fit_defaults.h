#pragma once
// Defaults that follow other fields, so that no default contradicts a run file. Any thread.

#include <functional>
#include <string_view>

#include "config/run_config.h"

namespace esper::config {

// Fits the fields that were not given to those that were; one that was given keeps its value, right or wrong. Where the
// plain defaults fit, they stay.
void fit_defaults(RunConfig& config, const std::function<bool(std::string_view path)>& is_given);

}  // namespace esper::config
