#pragma once
// How a network may be changed next, from what it looks like now: plain data in, plain data out. Any thread.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "leyline/command.h"
#include "leyline/observation.h"

namespace esper::lanes {

struct LikelyChange {
  leyline::SeedOperation operation = leyline::SeedOperation::kGerminate;  // or kCull or kFossilize
  std::string slot, blueprint;                                            // kGerminate
  std::string seed_id;                                                    // the others
  bool operator==(const LikelyChange&) const = default;
};

// "GERMINATE conv_heavy at r0c0", "CULL seed-0001"
std::string describe(const LikelyChange& change);

// What the policy would grow if it grew something now: it looks at slots that are free and at its own state (as
// Controller::save_state() gives it). No blueprint: nothing.
using GerminationForecast =
    std::function<LikelyChange(const std::vector<leyline::SlotState>& free_slots, const std::string& state)>;

struct GrowthForecast {
  std::vector<leyline::SeedState> seeds;
  std::vector<leyline::SlotState> slots;
  int max_seeds = 1;         // that may be growing at a time
  std::string policy_state;  // for the forecast
};

// At most `limit`. What grows goes; what is on trial, or one stage before it, stays; something comes up in a slot that
// is free or will be, as the policy's forecast has it, else slot by slot in the order of the run's blueprints. The
// likeliest of each of these comes first, so that none takes all of the budget.
std::vector<LikelyChange> likely_changes(const GrowthForecast& growth_forecast, std::size_t limit,
                                         const GerminationForecast& forecast = {});

}  // namespace esper::lanes
