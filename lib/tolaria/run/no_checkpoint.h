#pragma once
// What to say of a run that has no checkpoint to go on from, to fork or to measure.

#include <string>

#include "base/file_system.h"

namespace esper::tolaria {

// What became of the checkpoints of a run that had some, with the way out. Empty where nothing shows that it had any.
std::string lost_checkpoints(base::FileSystem& files, const std::string& run);

// For a run folder that lists none: throws Error{kCheckpoint} with that text, or that the run has none yet.
[[noreturn]] void fail_without_checkpoint(base::FileSystem& files, const std::string& run);

}  // namespace esper::tolaria
