#pragma once
// The run waits for a program that it cannot go on without. Training thread.

#include <optional>
#include <string>

#include "lanes/runner_services.h"

namespace esper::lanes {

struct CompileWait {
  enum class End {
    kOutcome,
    kInterrupted,  // a signal asked the run to stop
    kLate,         // the compiler came to no outcome in CompileDesk::longest_wait()
  };
  End end;
  std::optional<program::CompileOutcome> outcome{};  // with kOutcome
};

// The program was submitted. After five seconds, and every fifteen from then on, tolaria.compile_waiting says what is
// waited for; it is sent at once.
CompileWait wait_for_program(const RunnerServices& services, const std::string& key);

// The event that says so. The program was compiled.
leyline::TelemetryEvent compile_finished(const program::CompileOutcome& outcome);

// Of an earlier request for the same program, given up with the structure it was for.
inline bool was_cancelled(const program::CompileOutcome& outcome) {
  return outcome.failure == program::CompileFailure::kCancelled;
}

}  // namespace esper::lanes
