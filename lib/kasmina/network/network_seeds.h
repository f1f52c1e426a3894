#pragma once
// What policies, reports and validation see of a network's seeds and slots: numbers and names, no tensors. Training
// thread.

#include <string>
#include <vector>

#include "kasmina/network/network_state.h"
#include "leyline/observation.h"

namespace esper::kasmina {

// Growing and fossilised seeds, in order of birth. Values that were not measured are empty.
std::vector<leyline::SeedState> export_seed_states(const NetworkState& network);
// The growing ones of them.
std::vector<leyline::SeedState> export_growing_seed_states(const NetworkState& network);
std::vector<leyline::SlotState> export_slots(const NetworkState& network);
// Growing seeds with an alpha above 0, in order of birth: the seeds that are turned off to measure their
// contribution.
std::vector<std::string> active_seeds(const NetworkState& network);
// In order of birth.
std::vector<std::string> growing_seeds(const NetworkState& network);
// Seeds whose contribution this epoch's validation must measure (PROBATIONARY), and those to evaluate at full alpha
// (TRAINING, and SHADOWING below alpha 1; at alpha 1 the running network is that evaluation).
std::vector<std::string> seeds_to_measure(const NetworkState& network);
std::vector<std::string> seeds_to_shadow(const NetworkState& network);

}  // namespace esper::kasmina
