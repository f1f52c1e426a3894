#include "leyline/telemetry.h"

namespace esper::leyline {
namespace {

using namespace literals;

const TelemetryEvent* find_event(const TelemetryPacket& packet, std::string_view name) {
  const auto found = std::ranges::find(packet.events, name, &TelemetryEvent::description);
  return found == packet.events.end() ? nullptr : &*found;
}

const TelemetryEvent* first_warning(const TelemetryPacket& packet) {
  const auto found =
      std::ranges::find_if(packet.events, [](const TelemetryEvent& e) { return e.level >= Level::kWarning; });
  return found == packet.events.end() ? nullptr : &*found;
}

// The event that decides over the packet's health; none if all is well.
const TelemetryEvent* cause_of_trouble(const TelemetryPacket& packet) {
  for (const auto name :
       {"zero_samples"_event.name(), "epoch_hook_latency_high"_event.name(), "latency_high"_event.name()}) {
    if (const auto* found = find_event(packet, name)) return found;
  }
  return first_warning(packet);
}

}  // namespace

void finish_packet(TelemetryPacket& packet, std::uint64_t epoch) {
  packet.level = Level::kInfo;
  for (std::size_t n = 0; n < packet.events.size(); ++n) {
    packet.events[n].event_id = "evt-" + std::to_string(n);
    packet.level = std::max(packet.level, packet.events[n].level);
  }
  auto& health = packet.system_health;
  const auto* cause = cause_of_trouble(packet);
  health.status = Health::kHealthy;
  health.summary = "nominal";
  if (cause != nullptr) {
    const bool unhealthy = cause->description == "zero_samples"_event.name();
    health.status = unhealthy ? Health::kUnhealthy : Health::kDegraded;
    health.summary = cause->description;
  }
  health.indicators["epoch"] = std::to_string(epoch);
  health.indicators["priority"] = cause != nullptr ? "MESSAGE_PRIORITY_HIGH" : "MESSAGE_PRIORITY_NORMAL";
}

}  // namespace esper::leyline
