#include "lanes/structure/forecast.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/names.h"
#include "kasmina/seed/lifecycle.h"
#include "leyline/topology.h"

namespace esper::lanes {
namespace {

using leyline::SeedOperation;
using leyline::SlotState;
using leyline::Stage;

// The slots that are free, or that rest and will be free.
std::vector<SlotState> free_slots(const GrowthForecast& growth_forecast) {
  std::vector<SlotState> free;
  for (const SlotState& slot : growth_forecast.slots) {
    const bool held = leyline::has_module(slot.stage) || slot.stage == Stage::kTerminated || slot.blueprints.empty();
    if (held) continue;
    free.push_back(slot);
    free.back().stage = Stage::kDormant;
  }
  return free;
}

using Kinds = std::vector<const std::vector<LikelyChange>*>;

// The first of each kind, then the second of each.
std::vector<LikelyChange> in_turn(const Kinds& kinds) {
  std::vector<LikelyChange> all;
  std::size_t most = 0;
  for (const auto* kind : kinds) most = std::max(most, kind->size());
  for (std::size_t i = 0; i < most; ++i) {
    for (const auto* kind : kinds) {
      if (i < kind->size()) all.push_back((*kind)[i]);
    }
  }
  return all;
}

// All of them at once, then each.
std::vector<LikelyChange> with_all_first(std::vector<LikelyChange> each) {
  if (each.size() < 2) return each;
  LikelyChange all = each.front();
  all.together.assign(each.begin() + 1, each.end());
  each.insert(each.begin(), std::move(all));
  return each;
}

}  // namespace

std::string describe(const LikelyChange& change) {
  const auto operation = base::name_of(change.operation);
  std::string text = change.operation == SeedOperation::kGerminate
                         ? fmt::format("{} {} at {}", operation, change.blueprint, change.slot)
                         : fmt::format("{} {}", operation, change.seed_id);
  for (const LikelyChange& other : change.together) text += " with " + describe(other);
  return text;
}

std::vector<LikelyChange> likely_changes(const GrowthForecast& growth_forecast, std::size_t limit,
                                         const GerminationForecast& forecast) {
  std::vector<LikelyChange> moved, pruned, kept, born;
  int growing = 0;
  for (const auto& seed : growth_forecast.seeds) {
    if (!kasmina::is_growing(seed.stage)) continue;
    ++growing;
    if (growth_forecast.in_shadow && seed.stage <= Stage::kTraining) {
      const bool trains = seed.stage == Stage::kTraining;
      moved.push_back({trains ? SeedOperation::kStartGrafting : SeedOperation::kStartTraining, {}, {}, seed.seed_id});
    }
    pruned.push_back({SeedOperation::kCull, {}, {}, seed.seed_id});
    const Stage foreseen = growth_forecast.stays ? Stage::kTraining : Stage::kShadowing;
    if (seed.stage >= foreseen) kept.push_back({SeedOperation::kFossilize, {}, {}, seed.seed_id});
  }
  if (growing < growth_forecast.max_seeds) {
    const auto free = free_slots(growth_forecast);
    if (forecast) {
      LikelyChange next = forecast(free, growth_forecast.policy_state);
      const auto others = static_cast<std::size_t>(growth_forecast.max_seeds - growing - 1);
      if (next.together.size() > others) next.together.resize(others);
      if (!next.blueprint.empty()) born.push_back(std::move(next));
    } else {
      for (const SlotState& slot : free) {
        born.push_back({SeedOperation::kGerminate, slot.slot, slot.blueprints.front(), {}});
      }
    }
  }
  moved = with_all_first(std::move(moved));
  kept = with_all_first(std::move(kept));
  std::vector<LikelyChange> changes =
      in_turn(growth_forecast.stays ? Kinds{&moved, &kept, &born, &pruned} : Kinds{&moved, &pruned, &kept, &born});
  changes.resize(std::min(changes.size(), limit));
  return changes;
}

}  // namespace esper::lanes
