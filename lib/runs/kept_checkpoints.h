#pragma once
// The checkpoints of a run, and which of them something still needs. Any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "runs/run_record.h"

namespace esper::runs {

struct RunCheckpoint {
  std::string name;
  std::uint64_t bytes = 0;
  std::string
      needed;  // "the last", "the best", "a link refers to it", "the fork PATH began with it"; empty: nothing does
};

// Whether `fork` was forked from `run`: its journal names that folder, or one of that name that lies beside the fork,
// as where both were moved.
bool is_fork_of(const RunRecord& fork, const RunRecord& run);

// Oldest first. `others`: records among which forks are looked for. Links are those in the run folder and in
// checkpoints/ whose target ends with a checkpoint's name. Throws IoError, and Error{kCheckpoint} for a journal that is
// none.
std::vector<RunCheckpoint> read_checkpoints(const RunRecord& run, const std::vector<RunRecord>& others);

}  // namespace esper::runs
