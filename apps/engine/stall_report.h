#pragma once
// What happens when a run makes no progress.

#include <string>

#include "base/clock.h"
#include "config/safety_config.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "tolaria/safety/watchdog.h"

namespace esper::engine {

struct StallTarget {
  const config::SafetyConfig& config;
  std::string run_id;
  base::Clock clock;
  leyline::TelemetrySink& sink;
  const leyline::Progress& display;
};

// Reports it, in telemetry and in the log. Ends the process with exit status 75 if safety.stop_when_stalled is set: its
// threads cannot be told to stop, so nothing is saved; the run can be resumed from its newest checkpoint. Not if there
// is progress again before the report is out. Any thread.
void report_stall(const StallTarget& target, const tolaria::Stall& stall);

}  // namespace esper::engine
