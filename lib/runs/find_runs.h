#pragma once
// The run folders below some folders. Any thread.

#include <string>
#include <vector>

#include "history/run_place.h"

namespace esper::runs {

// Run folders lie this deep below a root at most: runs/STUDY/GROUP/RUN.
inline constexpr int kMostDepth = history::kMostLevelsBelow;
inline constexpr std::size_t kMostFolders = 100'000;  // that are looked into

struct FoundRuns {
  std::vector<std::string> folders;   // each once, sorted; a root's own path stands before each
  std::vector<std::string> problems;  // what was not searched, and why
};

// Whether the folder is one that a run made, in whatever state it is now: it has config.yaml and one of the other
// things that a run makes (lock, checkpoints/, journal, summary.json), or at least the lock and checkpoints/ or
// journal. The entries themselves count: links do not.
bool is_run_folder(const std::string& folder);

// A root that is a run folder is found itself. Below a root no link is followed, and nothing is looked for in a run
// folder.
FoundRuns find_runs(const std::vector<std::string>& roots);

}  // namespace esper::runs
