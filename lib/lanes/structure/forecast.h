#pragma once
// Forecasts how a network may change next, from its present state. Plain data in, plain data out. Any thread.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "leyline/command.h"
#include "leyline/observation.h"

namespace esper::lanes {

struct LikelyChange {
  // Or kCull or kFossilize; kStartTraining and kStartGrafting where seeds train in the shadow of the network.
  leyline::SeedOperation operation = leyline::SeedOperation::kGerminate;
  std::string slot, blueprint;              // kGerminate
  std::string seed_id;                      // of all others
  std::vector<LikelyChange> together = {};  // further ones that come with it, at the same epoch's end
  bool operator==(const LikelyChange&) const = default;
};

// "GERMINATE conv_heavy at r0c0", "CULL seed-0001", "FOSSILIZE seed-0001 with FOSSILIZE seed-0002"
std::string describe(const LikelyChange& change);

// What the policy would germinate next, from the free slots and its own state (as from Controller::save_state()). No
// blueprint: nothing.
using GerminationForecast =
    std::function<LikelyChange(const std::vector<leyline::SlotState>& free_slots, const std::string& state)>;

struct GrowthForecast {
  std::vector<leyline::SeedState> seeds;
  std::vector<leyline::SlotState> slots;
  int max_seeds = 1;         // maximum number of growing seeds
  std::string policy_state;  // input of the policy's forecast
  bool in_shadow = false;    // seeds train in the shadow of the network: that begins and ends with another structure
  bool stays = false;        // a seed is judged by its epochs alone, so that it will become part of the host
};

// At most `limit` changes. Candidates: the next stage of each seed that is to train, or trains, in the shadow; culling
// each growing seed; fossilising each seed that is on trial or one stage before it, or from its training on where it is
// to stay (then culling is the least likely); germinating where the policy's forecast says, or without a forecast in
// each slot that is or will be free, with its first blueprint. The likeliest change of each kind comes first, so that
// no kind uses the whole budget; that is all seeds' together where several may take the same step, as seeds that were
// germinated together do.
std::vector<LikelyChange> likely_changes(const GrowthForecast& growth_forecast, std::size_t limit,
                                         const GerminationForecast& forecast = {});

}  // namespace esper::lanes
