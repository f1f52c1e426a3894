#pragma once
// What a step runner works with besides the model. All of it outlives the runner. Training thread.

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/ledger/ledger.h"
#include "config/growth_config.h"
#include "device/memory_figures.h"
#include "lanes/lane_log.h"
#include "lanes/twin.h"
#include "leyline/telemetry_packet.h"
#include "program/compile_desk.h"

namespace esper::lanes {

struct RunnerServices {
  program::CompileDesk* desk = nullptr;  // null: nothing can be compiled
  base::Ledger* ledger = nullptr;        // null: nobody keeps account
  base::Clock clock{};
  std::function<void(leyline::TelemetryEvent)> tell;
  std::function<void(std::string)> note{};          // a note for the run's journal
  LaneLog log{};                                    // of the run so far, where it is resumed
  ModelFactory twin{};                              // null: nothing is prepared ahead
  config::GrowthConfig growth{};                    // for that
  std::function<device::MemoryFigures()> memory{};  // null: of the model's device
  std::function<void()> send{};                     // what was told, now; null: it goes with the next packet
};

}  // namespace esper::lanes
