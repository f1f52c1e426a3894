#pragma once
// What a step runner works with besides the model. All of it outlives the runner. Training thread.

#include <functional>
#include <string>

#include "config/growth_config.h"
#include "device/memory_figures.h"
#include "lanes/shape/lane_context.h"
#include "lanes/shape/lane_log.h"
#include "lanes/structure/scratch_model.h"

namespace esper::lanes {

struct RunnerServices : LaneServices {
  std::function<void(std::string)> note{};          // a note for the run's journal
  LaneLog log{};                                    // of the run so far, where it is resumed
  ModelFactory scratch_model{};                     // null: nothing is prepared ahead
  config::GrowthConfig growth{};                    // for that
  std::function<device::MemoryFigures()> memory{};  // null: of the model's device
};

}  // namespace esper::lanes
