#pragma once
// A row of telemetry_table.h: a metric or an event, by name.

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace esper::leyline {

enum class TelemetryKind : std::uint8_t {
  kCounter,    // only grows while the process lives
  kGauge,      // the value now
  kHistogram,  // one measurement of many; its distribution matters
  kEvent,      // something that happened
};

struct TelemetryEntry {
  std::string_view name;
  TelemetryKind kind;
  std::string_view unit;
  std::string_view help;
  std::string_view labels;  // names of the attributes that may come with it, parted by blanks
};

constexpr bool allows_label(const TelemetryEntry& entry, std::string_view label) {
  for (auto rest = entry.labels; !rest.empty();) {
    const auto end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == label) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

namespace telemetry_rows {

constexpr TelemetryEntry counter(std::string_view name, std::string_view unit, std::string_view help,
                                 std::string_view labels = {}) {
  return {name, TelemetryKind::kCounter, unit, help, labels};
}
constexpr TelemetryEntry gauge(std::string_view name, std::string_view unit, std::string_view help,
                               std::string_view labels = {}) {
  return {name, TelemetryKind::kGauge, unit, help, labels};
}
constexpr TelemetryEntry histogram(std::string_view name, std::string_view unit, std::string_view help,
                                   std::string_view labels = {}) {
  return {name, TelemetryKind::kHistogram, unit, help, labels};
}
constexpr TelemetryEntry event(std::string_view name, std::string_view help, std::string_view labels = {}) {
  return {name, TelemetryKind::kEvent, "event", help, labels};
}

// A metric and an event may share a name; the metric comes first.
constexpr bool in_order(const TelemetryEntry& a, const TelemetryEntry& b) {
  if (a.name != b.name) return a.name < b.name;
  return a.kind != TelemetryKind::kEvent && b.kind == TelemetryKind::kEvent;
}
constexpr bool complete(const TelemetryEntry& e) { return !e.name.empty() && !e.unit.empty() && !e.help.empty(); }

}  // namespace telemetry_rows
}  // namespace esper::leyline
