#pragma once
// What seeds cost a training step: a shadow for each, gradient surgery among several, and the figures of each.

#include <string>
#include <vector>

#include "base/statistics.h"
#include "engine/bench/workload.h"

namespace esper::engine::bench {

// Something with it over the same without it, taking turns.
struct SeedCost {
  std::string name;
  base::RatioEstimate ratio;
};

// "shadow_<n>_seeds/straight_through" for one and four seeds in TRAINING, one microbatch a step: a seed is in its own
// forward alone, or in the main one.
// "pcgrad_<n>_seeds/plain" ("_1_seed/") for one to four newborn seeds, four microbatches a step, attribution approx:
// with one seed surgery is skipped, so the two programs are alike. "seed_figures_<n>_seeds/without" for one and four
// seeds.
std::vector<SeedCost> seed_costs(const Workload& workload, int rounds);

}  // namespace esper::engine::bench
