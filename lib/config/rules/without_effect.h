#pragma once
// Settings that change nothing beside the others. Any thread.

#include "config/run_config.h"

namespace esper::config {

// No mistakes: one run file may serve several values of the setting that they go with, as a sweep over it has them.
Findings settings_without_effect(const RunConfig& config);

}  // namespace esper::config
