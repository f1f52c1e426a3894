#pragma once
// Whether a run that has ended would go on with other settings: for `esper set` and the daemon alike. Any thread.

#include <string>
#include <vector>

#include "base/file_system.h"
#include "config/run_config.h"

namespace esper::runs {

// Throws Error{kConfig}, with the way out, where the run is finished and no epoch would begin with the assignments.
// own: as the run began. Throws as history::settings_with().
void refuse_if_ended(base::FileSystem& files, const std::string& run, const config::RunConfig& own,
                     const std::vector<std::string>& assignments);

}  // namespace esper::runs
