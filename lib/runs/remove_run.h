#pragma once
// Deletes runs and checkpoints, under the run's lock. Any thread.

#include <string>
#include <vector>

#include "base/expected.h"

namespace esper::runs {

// Whether checkpoints of the run may be deleted: the folder is a run folder, no link, and, with `stamp`, as it was at
// that stamp. Takes no lock.
base::Expected<void> check_prunable(const std::string& folder, const std::string& stamp = {});
// Whether the whole folder may be: that, and no other run folder lies in it.
base::Expected<void> check_removable(const std::string& folder, const std::string& stamp = {});

// Deletes the run folder: it is moved aside first (PATH.old-PID), so that no reader finds a part of it under its name;
// of what a killed process leaves there config.yaml and the lock go last, so that it is found and can be deleted again.
// Refused, with the reason, where check_removable() refuses, or where the run is in use.
base::Expected<void> remove_run(const std::string& folder, const std::string& stamp = {});

// Deletes these checkpoints of it. Refused where check_prunable() refuses, or where the run is in use; a reason names
// the checkpoint that could not be deleted.
base::Expected<void> remove_checkpoints(const std::string& folder, const std::vector<std::string>& names,
                                        const std::string& stamp);

}  // namespace esper::runs
