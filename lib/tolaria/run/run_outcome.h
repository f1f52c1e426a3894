#pragma once
// How a run ended. Plain data.

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "tolaria/run/safety_record.h"

namespace esper::tolaria {

// The run goes on in the same process, from its newest checkpoint at or before that step, with that reaction; without
// one where it only began within the epoch that is to be undone.
struct GoBack {
  std::optional<ReactionRecord> reaction;
  std::int64_t newest_step = 0;
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
    kGoBack,
  } kind = Kind::kDone;
  int signal = 0;                   // kInterrupted
  std::string reason;               // as text; empty for kDone
  std::optional<GoBack> back = {};  // kGoBack
};

// kGoBack where nothing goes back with the run: it diverged.
base::ExitCode exit_code_of(const RunOutcome& outcome);

}  // namespace esper::tolaria
