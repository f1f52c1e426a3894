#pragma once
// A run and the runs that it was forked from, one after the other, as if they were one.

#include <string>
#include <vector>

#include "leyline/growth_history.h"

namespace esper::nissa {

// A run that this one goes back to, and where the fork left it.
struct Ancestor {
  std::string run;  // its folder, as it was found
  leyline::RunPlace until;
};

struct Lineage {
  leyline::GrowthHistory history;   // of all of them, each up to where it was left
  std::vector<Ancestor> ancestors;  // the nearest first
  std::vector<std::string> gaps;    // what is missing in the ancestors' journals, and which of them could not be read
};

// `history`: of the run in the folder `run`, by read_run_history(). A parent is looked for where the fork found it,
// then beside the fork under the same name. One that is not there, or is not the run that the fork left, is a gap that
// names it: what is told then begins with the fork.
Lineage read_lineage(const std::string& run, leyline::GrowthHistory history);

}  // namespace esper::nissa
