#pragma once
// Settings that are allowed and from which training hardly learns. Any thread.

#include "config/run_config.h"

namespace esper::config {

// No mistakes: they train, if not as their user expects.
Findings doubtful_settings(const RunConfig& config);

}  // namespace esper::config
