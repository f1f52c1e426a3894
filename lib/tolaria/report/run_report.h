#pragma once
// How a process starts or resumes a run, and how the run ended: events, and the journal's first record. Training
// thread.

#include <exception>
#include <string>
#include <vector>

#include "base/error.h"
#include "tolaria/checkpoint/checkpoint_store.h"
#include "tolaria/run/run.h"
#include "tolaria/state/run_outcome.h"

namespace esper::tolaria {

// What the run may need more of than there is, by its forecast.
struct Shortage {
  std::string resource;           // "memory", "disk"
  std::string needed, available;  // "1.2 GiB", for people
  std::string reason;             // what it consists of, and what limits it
};

struct RunStart {
  enum class Kind { kNew, kResumed } kind = Kind::kNew;
  std::string run_dir{};
  std::string checkpoint{};                  // kResumed: its path; empty: from the beginning
  std::vector<RefusedCheckpoint> refused{};  // newer ones that were rejected
  std::string computed_on{};                 // kResumed: device::numerics_of() of its checkpoint, where it has one
  std::vector<Shortage> shortages{};
  std::string version{};  // of the program
};

// Before the first step. Sends its events at once.
void report_start(const Run& run, const RunStart& start);

// The last packet of a process, with the run's outcome.
void report_outcome(const Run& run, const RunOutcome& outcome);
enum class LastState { kSaved, kNotSaved };
struct RunFailure {
  const std::exception& error;
  base::ExitCode code;  // of the process, for this error
  LastState state = LastState::kNotSaved;
  double wall_s = 0;  // RunFacts::wall_s()
};
void report_failure(Outbox& outbox, base::Ledger& ledger, const RunProgress& progress, const RunFailure& failure);

// The last packet of a process: the pending events, and the time since the last epoch.
void report_end(Outbox& outbox, base::Ledger& ledger);

}  // namespace esper::tolaria
