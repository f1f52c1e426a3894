#pragma once
// What a plan is asked and answers: a rule that says after which epochs a seed is germinated, where and of which
// blueprint, whatever the run's figures. planned_policy.h makes a policy of it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "leyline/observation.h"
#include "tamiyo/care_state.h"

namespace esper::tamiyo {

inline constexpr char kNoRoom[] = "as many seeds grow as growth.max_seeds allows";

// The end of an epoch.
struct Moment {
  std::uint32_t previous_epoch = 0;  // of the decision before this one; 0: none
  std::uint32_t epoch = 0;
  const std::vector<leyline::SlotState>& slots;
  int room = 0;  // how many more seeds may grow
  std::string why_full = kNoRoom;
};

struct PlannedGermination {
  Germination what;
  std::string reason;
};

struct NoGermination {
  std::string why;         // a clause
  bool is_missed = false;  // it was ordered for now and is not tried again: whoever ordered it has to know
};

// In order: what is germinated, or why something is not.
using PlanAnswers = std::vector<base::Expected<PlannedGermination, NoGermination>>;

inline bool is_free(const leyline::SlotState& slot) {
  return slot.stage == leyline::Stage::kDormant && !slot.blueprints.empty();
}

inline constexpr char kNoFreeSlot[] = "no slot is free";

}  // namespace esper::tamiyo
