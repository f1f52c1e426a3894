#include "engine/stall_report.h"

#include <fmt/core.h>

#include <cstdlib>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/log.h"

namespace esper::engine {
namespace {

using leyline::event;
using leyline::Level;
using leyline::Phase;
using namespace leyline::literals;

// For the sinks to take the packet.
constexpr auto kLastWord = std::chrono::seconds(1);

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::kStarting:
      return "starting";
    case Phase::kTraining:
      return "training";
    case Phase::kValidating:
      return "validating";
    case Phase::kSaving:
      return "saving";
    case Phase::kDone:
      break;
  }
  return "done";
}

leyline::TelemetryPacket packet_of(const StallTarget& target, const tolaria::Stall& stall, double seconds) {
  leyline::TelemetryPacket packet;
  packet.packet_id = fmt::format("{}-stall-{}-{}", target.run_id, stall.epoch, stall.step);
  packet.timestamp = base::rfc3339(target.clock.wall());
  packet.source_subsystem = "tolaria";
  packet.events.push_back(event("tolaria.stalled"_event, Level::kCritical,
                                {{"phase", std::string(name_of(stall.phase))},
                                 {"epoch", std::to_string(stall.epoch)},
                                 {"step", std::to_string(stall.step)},
                                 {"seconds", fmt::format("{:.1f}", seconds)}}));
  leyline::finish_packet(packet, stall.epoch);
  return packet;
}

}  // namespace

void report_stall(const StallTarget& target, const tolaria::Stall& stall) {
  const double seconds = std::chrono::duration<double>(stall.lasted).count();
  target.sink.emit(packet_of(target, stall, seconds));
  nissa::log::warning(fmt::format("no progress for {:.1f} s while {} epoch {}, after step {}", seconds,
                                  name_of(stall.phase), stall.epoch, stall.step));
  if (!target.config.stop_when_stalled) return;
  std::this_thread::sleep_for(kLastWord);
  const auto& display = target.display;
  if (display.epoch != stall.epoch || display.step != stall.step || display.phase != stall.phase) return;
  nissa::log::error("the process ends, since safety.stop_when_stalled is set; continue with esper train --resume");
  std::_Exit(static_cast<int>(base::ExitCode::kTryAgain));
}

}  // namespace esper::engine
