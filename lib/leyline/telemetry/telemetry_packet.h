#pragma once
// What a subsystem reports: metrics, events and its health. Plain data; the interface TelemetrySink receives
// it.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace esper::leyline {

enum class Level : std::uint8_t { kInfo = 1, kWarning = 2, kError = 3, kCritical = 4 };
constexpr auto names(Level) {
  return std::array{std::pair{Level::kInfo, "INFO"}, std::pair{Level::kWarning, "WARNING"},
                    std::pair{Level::kError, "ERROR"}, std::pair{Level::kCritical, "CRITICAL"}};
}

enum class Health : std::uint8_t { kHealthy = 1, kDegraded = 2, kUnhealthy = 3, kCritical = 4 };
constexpr auto names(Health) {
  return std::array{std::pair{Health::kHealthy, "HEALTHY"}, std::pair{Health::kDegraded, "DEGRADED"},
                    std::pair{Health::kUnhealthy, "UNHEALTHY"}, std::pair{Health::kCritical, "CRITICAL"}};
}

using Attributes = std::map<std::string, std::string>;

struct MetricValue {
  std::string_view name;  // from the telemetry table, hence of static lifetime
  double value = 0;
  std::string_view unit;
  Attributes attributes;
};

struct TelemetryEvent {
  std::string event_id;          // "evt-<n>"
  std::string_view description;  // the event's name in the telemetry table
  Level level = Level::kInfo;
  Attributes attributes;
};

struct SystemHealth {
  Health status = Health::kHealthy;
  std::string summary;
  Attributes indicators;
};

struct TelemetryPacket {
  std::string packet_id;
  std::string timestamp;         // RFC 3339, UTC, microseconds
  std::string source_subsystem;  // tolaria, kasmina, tamiyo, ...
  Level level = Level::kInfo;    // highest level among the events
  std::vector<MetricValue> metrics;
  std::vector<TelemetryEvent> events;
  SystemHealth system_health;
};

class TelemetrySink {
 public:
  virtual ~TelemetrySink() = default;
  // The hub's emit never waits and never throws. A sink behind the hub says that it could not deliver a packet by
  // throwing; the hub counts that (nissa.sink_errors_total), and neither the caller nor another sink notices.
  virtual void emit(const TelemetryPacket& packet) = 0;
};

}  // namespace esper::leyline
