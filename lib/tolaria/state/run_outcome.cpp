#include "tolaria/state/run_outcome.h"

#include <csignal>

namespace esper::tolaria {

base::ExitCode exit_code_of(const RunOutcome& outcome) {
  using base::ExitCode;
  using Kind = RunOutcome::Kind;
  switch (outcome.kind) {
    case Kind::kDone:
    case Kind::kEarlyStopped:
      return ExitCode::kDone;
    case Kind::kInterrupted:
      return outcome.signal == SIGTERM  ? ExitCode::kTerminated
             : outcome.signal == SIGHUP ? ExitCode::kHungUp
                                        : ExitCode::kInterrupted;
    case Kind::kDiverged:
    case Kind::kRestart:
      return ExitCode::kDiverged;
    case Kind::kHalted:
      return ExitCode::kTryAgain;
    case Kind::kNotSaved:
    case Kind::kOutOfMemory:
      return ExitCode::kResources;
    case Kind::kFailed:
      return outcome.error;
  }
  return ExitCode::kBug;
}

}  // namespace esper::tolaria
