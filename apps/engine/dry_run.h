#pragma once
// `esper train --dry-run`: the sizes, layers and slots of what would be trained, on standard output. Training thread.

#include "engine/commands.h"
#include "engine/open_run.h"
#include "engine/training_setup.h"

namespace esper::engine {

// run: the one that is to be continued, or null. Its sizes are those of its newest checkpoint that can be read; the
// setup's network is that one then. Unlike a resume it writes and renames nothing, and asks no policy. Throws
// Error{kCheckpoint} where it has, or had, checkpoints and none can be used.
void print_sizes(TrainingSetup& setup, const TrainRequest& request, const OpenRun* run);

}  // namespace esper::engine
