#include "leyline/telemetry/telemetry.h"

#include <fmt/core.h>

namespace esper::leyline {
namespace {

const TelemetryEvent* first_warning(const TelemetryPacket& packet) {
  const auto found =
      std::ranges::find_if(packet.events, [](const TelemetryEvent& e) { return e.level >= Level::kWarning; });
  return found == packet.events.end() ? nullptr : &*found;
}

}  // namespace

void finish_packet(TelemetryPacket& packet, std::uint64_t epoch) {
  packet.level = Level::kInfo;
  for (std::size_t n = 0; n < packet.events.size(); ++n) {
    packet.events[n].event_id = fmt::format("evt-{}", n);
    packet.level = std::max(packet.level, packet.events[n].level);
  }
  auto& health = packet.system_health;
  const auto* cause = first_warning(packet);
  health.status = cause != nullptr ? Health::kDegraded : Health::kHealthy;
  health.summary = cause != nullptr ? cause->description : "nominal";
  health.indicators["epoch"] = std::to_string(epoch);
  health.indicators["priority"] = cause != nullptr ? "MESSAGE_PRIORITY_HIGH" : "MESSAGE_PRIORITY_NORMAL";
}

}  // namespace esper::leyline
