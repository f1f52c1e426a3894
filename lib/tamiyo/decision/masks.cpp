#include "tamiyo/decision/masks.h"

#include <algorithm>

namespace esper::tamiyo {

using leyline::Observation;
using leyline::SeedState;
using leyline::Stage;

namespace {

bool is_seed_growing(const SeedState& seed) { return next_operation(seed.stage).has_value(); }

bool has_room(const Observation& observation, int max_seeds) {
  return !observation.is_last && observation.germination_barred.empty() &&
         std::ranges::count_if(observation.seed_states, is_seed_growing) < max_seeds;
}

bool is_empty_slot(const Candidates& candidates, std::size_t row, const Observation& observation) {
  const auto& candidate = candidates.seeds[row];
  if (!candidate.seed_id.empty() || row >= candidates.fits.size() || candidates.fits[row].empty()) return false;
  const auto slot = std::ranges::find(observation.slots, candidate.slot, &leyline::SlotState::slot);
  return slot != observation.slots.end() && slot->stage == Stage::kDormant;
}

// Null where the row is no growing seed.
const SeedState* growing_seed(const SeedCandidate& candidate, const Observation& observation) {
  const auto seed = std::ranges::find(observation.seed_states, candidate.seed_id, &SeedState::seed_id);
  return seed != observation.seed_states.end() && is_seed_growing(*seed) ? &*seed : nullptr;
}

}  // namespace

Masks masks_of(const Candidates& candidates, const Observation& observation, int max_seeds) {
  Masks masks;
  const auto allow = [&](Action action, std::size_t row) {
    masks.targets[static_cast<std::size_t>(action)].push_back(static_cast<int>(row));
  };
  const bool room = has_room(observation, max_seeds);
  for (std::size_t row = 0; row < candidates.seeds.size(); ++row) {
    if (room && is_empty_slot(candidates, row, observation)) allow(Action::kGerminate, row);
    const auto* seed = growing_seed(candidates.seeds[row], observation);
    if (seed == nullptr) continue;
    // After the last epoch the run settles what is unfinished.
    if (!observation.is_last || seed->stage == Stage::kProbationary) allow(Action::kAdvance, row);
    if (observation.is_last) continue;
    allow(Action::kCull, row);
    if (seed->figures.alpha > 0) allow(Action::kCancel, row);
  }
  return masks;
}

}  // namespace esper::tamiyo
