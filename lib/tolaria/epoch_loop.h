#pragma once
// The epochs of a run, from its present position to its end. Training thread.

#include "tolaria/run/run.h"
#include "tolaria/state/run_outcome.h"

namespace esper::tolaria {

// Trains, validates, grows, saves and reports until the last epoch or a reason to stop. The state is saved on return
// of kDone, kEarlyStopped and kInterrupted, but for an interrupted one that is not finite; else the run can be resumed
// from its newest checkpoint.
RunOutcome run_epochs(Run& run);

}  // namespace esper::tolaria
