#pragma once
// What the network should answer where a teacher decided so. Pure functions.

#include <string>

#include "base/expected.h"
#include "leyline/command.h"
#include "leyline/observation.h"
#include "simic/imitation/lesson.h"
#include "tamiyo/graph/candidates.h"

namespace esper::simic {

// A decision, and the choices that the policy network would have had.
struct TaughtDecision {
  const leyline::Observation& observation;
  const leyline::Decision& decision;
  const tamiyo::Candidates& candidates;
  int max_seeds = 1;  // growth.max_seeds
};

// All but risk and value. The first germination counts; what a teacher does to growing seeds is the care's, which every
// policy has, and so no choice of the network's. Fails, with the reason, for a germination that the network cannot
// choose.
base::Expected<Target> target_of(const TaughtDecision& taught);

}  // namespace esper::simic
