#pragma once
// What the rows of the graph's seed and blueprint nodes stand for. Plain data. Any thread.

#include <string>
#include <vector>

#include "leyline/seed.h"

namespace esper::tamiyo {

// A live seed, or a slot where one may grow.
struct SeedCandidate {
  std::string seed_id;  // empty: an empty slot
  std::string slot;
  leyline::Stage stage = leyline::Stage::kUnknown;  // kDormant for an empty slot
};

struct Candidates {
  std::vector<SeedCandidate> seeds;     // parallel to the seed nodes
  std::vector<std::string> blueprints;  // parallel to the blueprint nodes
  // Parallel to seeds: of an empty slot the blueprint nodes that fit it, ascending; empty for a live seed.
  std::vector<std::vector<int>> fits;
};

}  // namespace esper::tamiyo
