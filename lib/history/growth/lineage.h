#pragma once
// A run and the runs that it was forked from, one after the other, as if they were one.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "history/growth/growth_history.h"

namespace esper::history {

// A run that this one goes back to, and where the fork left it.
struct Ancestor {
  std::string run;  // its folder, as it was found
  RunPlace until;
  std::size_t records = 0;  // of the joined history, that are its own; 0 where it was not read
};

struct Lineage {
  GrowthHistory history;            // of all of them, each up to where it was left
  std::vector<Ancestor> ancestors;  // the nearest first
  std::optional<Ancestor> unread;  // the one before all of them, where it could not be read; `run` as the fork names it
  std::vector<std::string> gaps;   // what is missing in the ancestors' journals, and which of them could not be read
};

// `history`: of the run in the folder `run`, by read_run_history(). A parent is looked for where the fork found it,
// then beside the fork under the same name. One that is not there, or whose journal shows another topology at the place
// of the fork than the fork began with, is a gap that names it: the history then begins with the fork. Another run
// with that very topology there is taken for the parent, and so is one whose records leave its topology open but name
// the checkpoint. Forks are followed back over 32 runs, as long as GrowthHistory::begin_with() takes their records;
// what is cut off there is a gap too.
Lineage read_lineage(const std::string& run, GrowthHistory history);

}  // namespace esper::history
