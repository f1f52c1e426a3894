#pragma once
// What to say of a run that has no checkpoint to go on from, to fork or to measure.

#include <string>
#include <vector>

#include "base/file_system.h"
#include "tolaria/checkpoint/checkpoint_store.h"

namespace esper::tolaria {

// What became of the checkpoints of a run that had some, with the way out. Empty where nothing shows that it had any.
std::string lost_checkpoints(base::FileSystem& files, const std::string& run);

// As list_checkpoints(), of a run folder. Where there is none throws Error{kCheckpoint} with that text, or that the run
// has none yet.
std::vector<CheckpointEntry> require_checkpoints(base::FileSystem& files, const std::string& run);

}  // namespace esper::tolaria
