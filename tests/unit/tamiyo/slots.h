#pragma once
// Free slots, r0c0 on, that can all grow the same.

#include <string>
#include <vector>

#include "leyline/observation.h"
#include "leyline/slot_id.h"

namespace esper::tamiyo {

inline std::vector<leyline::SlotState> free_slots(std::size_t count, const std::vector<std::string>& blueprints) {
  std::vector<leyline::SlotState> slots;
  for (std::size_t i = 0; i < count; ++i) {
    slots.push_back({leyline::slot_id_of(i), leyline::Stage::kDormant, blueprints});
  }
  return slots;
}

}  // namespace esper::tamiyo
