#pragma once
// What a step runner needs besides the model. Everything must outlive the runner. Training thread.

#include <functional>
#include <string>

#include "config/growth_config.h"
#include "device/memory_figures.h"
#include "lanes/shape/lane_context.h"
#include "lanes/shape/lane_log.h"
#include "lanes/structure/scratch_model.h"

namespace esper::lanes {

struct RunnerServices : LaneServices {
  std::function<void(std::string)> append_record{};  // appends a record to the run's journal
  LaneLog log{};                                     // the records so far of a resumed run
  ModelFactory scratch_model{};                      // null: no structure is prepared ahead
  config::GrowthConfig growth{};                     // settings for preparing ahead
  std::function<device::MemoryFigures()> memory{};   // null: of the model's device
};

}  // namespace esper::lanes
