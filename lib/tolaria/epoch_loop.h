#pragma once
// The epochs of a run, from where it stands to its end. Training thread.

#include <string>

#include "tolaria/run/run.h"

namespace esper::tolaria {

struct RunOutcome {
  enum class Kind { kDone, kEarlyStopped, kInterrupted, kDiverged, kNotSaved } kind = Kind::kDone;
  int signal = 0;      // kInterrupted
  std::string reason;  // in words; empty for kDone
};

// Trains, validates, lets the network grow, saves and reports until the last epoch or a reason to stop. The state is
// saved when this returns, unless the outcome is kDiverged (the last good checkpoint stays) or kNotSaved.
RunOutcome run_epochs(Run& run);

}  // namespace esper::tolaria
