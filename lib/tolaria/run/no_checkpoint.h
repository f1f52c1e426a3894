#pragma once
// The error of a run without a checkpoint to resume, fork or evaluate.

#include <string>
#include <vector>

#include "base/file_system.h"
#include "tolaria/checkpoint/checkpoint_store.h"

namespace esper::tolaria {

// What happened to the checkpoints of a run that had some, with a remedy. Empty if there is no sign that it had any.
std::string lost_checkpoints(base::FileSystem& files, const std::string& run);

// As list_checkpoints(), of a run folder. If there are none, throws Error{kCheckpoint} with that message, or with one
// that the run has none yet.
std::vector<CheckpointEntry> require_checkpoints(base::FileSystem& files, const std::string& run);

// Throws Error{kCheckpoint}: the run has checkpoints, and none can be used, for these reasons, each with its path.
[[noreturn]] void fail_without_usable(const std::string& run, const std::vector<std::string>& reasons);

}  // namespace esper::tolaria
