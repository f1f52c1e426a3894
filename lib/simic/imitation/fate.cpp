#include "simic/imitation/fate.h"

#include <algorithm>

#include "tamiyo/graph/policy_outputs.h"

namespace esper::simic {

using leyline::Observation;
using leyline::SeedState;
using leyline::Stage;

namespace {

constexpr int kHarmless = 0, kHarmful = tamiyo::kRiskLevels - 1;

const Observation& observation_at(const history::DecisionLog& log, std::size_t i) {
  return log.entries[i].record.observation;
}

// The seed that was germinated there in so many epochs before this observation; null if there is none.
const SeedState* newborn_at(const Observation& observation, const std::string& slot, const std::string& blueprint,
                            std::uint32_t epochs) {
  const auto is_newborn = [&](const SeedState& seed) {
    return seed.slot == slot && seed.blueprint == blueprint && seed.age_epochs <= epochs;
  };
  const auto found = std::ranges::find_if(observation.seed_states, is_newborn);
  return found == observation.seed_states.end() ? nullptr : &*found;
}

// Whether the decision before was another run's.
bool is_first_of_fork(const history::DecisionLog& log, std::size_t i) {
  return observation_at(log, i).training_run_id != observation_at(log, i - 1).training_run_id;
}

// Whether the germination was carried out, and its slot rests by the decision after it: its seed is gone already.
bool is_lost_at_once(const history::DecisionLog& log, std::size_t i, const std::string& slot,
                     const std::string& blueprint) {
  if (is_first_of_fork(log, i + 1)) return false;  // it may have been left out
  const auto germinates = [&](const leyline::AdaptationCommand& command) {
    const auto& operation = command.seed_operation;
    return operation && operation->operation == leyline::SeedOperation::kGerminate && operation->slot == slot &&
           operation->blueprint_id == blueprint;
  };
  const auto rests = [&](const leyline::SlotState& state) {
    return state.slot == slot && state.stage >= Stage::kCulled && state.stage <= Stage::kResetting;
  };
  return std::ranges::any_of(log.entries[i].record.carried_out.commands, germinates) &&
         std::ranges::any_of(observation_at(log, i + 1).slots, rests);
}

std::optional<int> risk_of_germination(const history::DecisionLog& log, std::size_t i, const std::string& slot,
                                       const std::string& blueprint) {
  if (i + 1 >= log.entries.size()) return std::nullopt;
  const auto& next = observation_at(log, i + 1);
  const auto* newborn = newborn_at(next, slot, blueprint, next.current_epoch - observation_at(log, i).current_epoch);
  if (newborn == nullptr) return is_lost_at_once(log, i, slot, blueprint) ? std::optional(kHarmful) : std::nullopt;
  for (std::size_t later = i + 2; later < log.entries.size(); ++later) {
    const auto& seeds = observation_at(log, later).seed_states;
    const auto seed = std::ranges::find(seeds, newborn->seed_id, &SeedState::seed_id);
    if (seed == seeds.end() && is_first_of_fork(log, later)) return std::nullopt;  // it may have been left out
    if (seed == seeds.end() || seed->stage > Stage::kFossilized) return kHarmful;
    if (seed->stage == Stage::kFossilized) return kHarmless;
  }
  return std::nullopt;
}

}  // namespace

void add_hindsight(const history::DecisionLog& log, std::size_t i, const tamiyo::Candidates& candidates,
                   Target& target) {
  const double at_end = observation_at(log, log.entries.size() - 1).validation_accuracy;
  target.value = static_cast<float>(at_end - observation_at(log, i).validation_accuracy);
  if (target.action != tamiyo::Action::kGerminate) {
    target.risk = kHarmless;
    return;
  }
  target.risk = risk_of_germination(log, i, candidates.seeds[static_cast<std::size_t>(target.slot)].slot,
                                    candidates.blueprints[static_cast<std::size_t>(target.blueprint)]);
}

}  // namespace esper::simic
