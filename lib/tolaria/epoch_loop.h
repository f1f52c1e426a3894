#pragma once
// The epochs of a run, from where it stands to its end. Training thread.

#include "tolaria/run/run.h"
#include "tolaria/run/run_outcome.h"

namespace esper::tolaria {

// Trains, validates, lets the network grow, saves and reports until the last epoch or a reason to stop. The state is
// saved when this returns, unless the outcome is kDiverged (the last good checkpoint stays) or kNotSaved.
RunOutcome run_epochs(Run& run);

}  // namespace esper::tolaria
