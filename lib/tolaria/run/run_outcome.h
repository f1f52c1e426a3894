#pragma once
// How a run ended. Plain data.

#include <string>

#include "base/error.h"

namespace esper::tolaria {

struct RunOutcome {
  enum class Kind { kDone, kEarlyStopped, kInterrupted, kDiverged, kNotSaved } kind = Kind::kDone;
  int signal = 0;      // kInterrupted
  std::string reason;  // as text; empty for kDone
};

base::ExitCode exit_code_of(const RunOutcome& outcome);

}  // namespace esper::tolaria
