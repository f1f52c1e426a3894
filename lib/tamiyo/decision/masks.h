#pragma once
// Which actions are possible now, and for which candidates. A masked action is never chosen. Pure functions.

#include <array>
#include <vector>

#include "leyline/observation.h"
#include "tamiyo/decision/action_table.h"
#include "tamiyo/graph/candidates.h"

namespace esper::tamiyo {

struct Masks {
  // By action, the rows of Candidates::seeds that it may be applied to, ascending. kWait needs none.
  std::array<std::vector<int>, kActions> targets;

  const std::vector<int>& targets_of(Action action) const { return targets[static_cast<std::size_t>(action)]; }
  bool allows(Action action) const { return action == Action::kWait || !targets_of(action).empty(); }
};

// max_seeds: growth.max_seeds. A candidate that the observation does not know is never a target.
Masks masks_of(const Candidates& candidates, const leyline::Observation& observation, int max_seeds);

}  // namespace esper::tamiyo
