#pragma once
// What aggregation costs a training step: gradient surgery among several seeds, and the figures of each seed.

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

// "pcgrad_<n>_seeds/plain" ("_1_seed/") for one to four newborn seeds, four microbatches a step, attribution approx:
// with one seed surgery is skipped, so the two programs are alike. "seed_figures_<n>_seeds/without" for one and four
// seeds.
std::vector<SeedCost> aggregation_ratios(const Workload& workload, int rounds);

}  // namespace esper::engine::bench
