#pragma once
// How far a run has come whose settings are to change: for `esper set`, `esper train --resume` and the daemon alike.
// Any thread; safe while the run writes.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "history/live_request.h"

namespace esper::runs {

// Whether a process trains the run now. The lock is not taken, also not for a moment: a run that is resumed then would
// find it held. Throws as storage::folder_use().
bool is_training(const std::string& run);

// Member "progress" of the checkpoint from which the run would go on; null where none can be read, which --resume
// reports. Throws IoError where the checkpoints cannot be listed.
nlohmann::json saved_progress(base::FileSystem& files, const std::string& run);

// The epoch in which the run is or which it goes on with, counted from 1; where neither telemetry nor a checkpoint says
// it, 0. Throws IoError.
std::int64_t reached_epoch(base::FileSystem& files, const std::string& run);

// Throws Error{kConfig}, which names the epoch that the run has reached, where the changes would leave it fewer epochs
// than planned, and not more than it has begun. Where neither telemetry nor a checkpoint says how many these are, no
// change is refused. Throws IoError.
void refuse_begun_epochs(base::FileSystem& files, const std::string& run,
                         const std::vector<history::FieldChange>& changes);

// Of a run that is resumed: throws Error{kConfig} where `asked` epochs are fewer than it has reached. One that it has
// begun may be the last. The number that it has already (`before`) is never refused. Throws IoError.
void refuse_trained_epochs(base::FileSystem& files, const std::string& run, std::int64_t before, std::int64_t asked);

}  // namespace esper::runs
