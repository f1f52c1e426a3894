#pragma once
// How a run ended. Plain data.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tolaria/state/reaction_record.h"
#include "tolaria/state/rollback_figures.h"

namespace esper::tolaria {

// The run is to go on in the same process, built again from its newest checkpoint at or before `newest_step`.
struct RestartRequest {
  std::vector<ReactionRecord> reactions;  // since the run was composed, in order
  std::int64_t newest_step = 0;
  // Where it failed.
  std::uint32_t epoch = 0;  // from 1
  std::int64_t step = 0;
  RollbackFigures figures{};  // so far
};

struct RunOutcome {
  enum class Kind {
    kDone,
    kEarlyStopped,
    kInterrupted,
    kDiverged,
    kNotSaved,
    kOutOfMemory,  // and smaller microbatches cannot help
    kHalted,       // an emergency; the state is saved
    kRestart,
    kFailed,  // with an error
  } kind = Kind::kDone;
  int signal = 0;                               // kInterrupted
  std::string reason;                           // as text; empty for kDone
  std::optional<RestartRequest> restart = {};   // kRestart
  base::ExitCode error = base::ExitCode::kBug;  // kFailed
};

// kRestart where nothing restarts the run: it diverged.
base::ExitCode exit_code_of(const RunOutcome& outcome);

// As summary.json and telemetry have it: "early_stopped".
std::string_view status_of(RunOutcome::Kind kind);

}  // namespace esper::tolaria
