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

std::string_view status_of(RunOutcome::Kind kind) {
  using Kind = RunOutcome::Kind;
  switch (kind) {
    case Kind::kDone:
      return "done";
    case Kind::kEarlyStopped:
      return "early_stopped";
    case Kind::kInterrupted:
      return "interrupted";
    case Kind::kDiverged:
      return "diverged";
    case Kind::kOutOfMemory:
      return "out_of_memory";
    case Kind::kHalted:
      return "halted";
    case Kind::kFailed:
      return "failed";
    case Kind::kRestart:
    case Kind::kNotSaved:
      break;
  }
  return "not_saved";
}

}  // namespace esper::tolaria
