#pragma once
// Making telemetry: names resolved at compile time, and packets that carry the right level and health.
//
//   using namespace leyline::literals;
//   packet.metrics.push_back(metric("tolaria.training.loss"_metric, loss));
//   packet.events.push_back(event("tolaria.early_stop"_event, Level::kInfo, {{"epoch", std::to_string(epoch)}}));
//   finish_packet(packet, epoch);
//
// A misspelt name, an event used as a metric, or a label that the table does not allow for that name does not compile.
// Any thread.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "leyline/telemetry/telemetry_packet.h"
#include "leyline/telemetry/telemetry_table.h"

namespace esper::leyline {

// A string literal as a template argument. Implicit, so that literals serve as they are; the same for Label below.
template <std::size_t kSize>
struct TelemetryName {
  char text[kSize]{};
  consteval TelemetryName(const char (&in)[kSize]) { std::copy_n(in, kSize, text); }  // NOLINT(google-explicit-*)
  constexpr std::string_view view() const { return {text, kSize - 1}; }
};

// The row of a metric or of an event; the table's size if there is none.
constexpr std::size_t find_metric(std::string_view name) {
  const auto* row = std::ranges::lower_bound(kTelemetryTable, name, {}, &TelemetryEntry::name);
  const bool found = row != kTelemetryTable.end() && row->name == name && row->kind != TelemetryKind::kEvent;
  return found ? static_cast<std::size_t>(row - kTelemetryTable.begin()) : kTelemetryTable.size();
}
constexpr std::size_t find_event(std::string_view name) {
  const auto* next = std::ranges::upper_bound(kTelemetryTable, name, {}, &TelemetryEntry::name);
  if (next == kTelemetryTable.begin()) return kTelemetryTable.size();
  const auto* row = next - 1;
  const bool found = row->name == name && row->kind == TelemetryKind::kEvent;
  return found ? static_cast<std::size_t>(row - kTelemetryTable.begin()) : kTelemetryTable.size();
}

template <TelemetryName kName>
concept NameOfAMetric = find_metric(kName.view()) < kTelemetryTable.size();
template <TelemetryName kName>
concept NameOfAnEvent = find_event(kName.view()) < kTelemetryTable.size();

// Handles: a row of the table that is known at compile time.
template <std::size_t kRow>
struct Metric {
  static constexpr std::string_view name() { return kTelemetryTable[kRow].name; }
  static constexpr std::string_view unit() { return kTelemetryTable[kRow].unit; }
};
template <std::size_t kRow>
struct Event {
  static constexpr std::string_view name() { return kTelemetryTable[kRow].name; }
};

namespace literals {
template <TelemetryName kName>
  requires NameOfAMetric<kName>
consteval auto operator""_metric() {
  return Metric<find_metric(kName.view())>{};
}
template <TelemetryName kName>
  requires NameOfAnEvent<kName>
consteval auto operator""_event() {
  return Event<find_event(kName.view())>{};
}
}  // namespace literals

// The name of an attribute; only one that row kRow of the table allows compiles.
template <std::size_t kRow>
struct Label {
  std::string_view text;
  consteval Label(const char* name) : text(name) {  // NOLINT(google-explicit-*)
    if (!allows_label(kTelemetryTable[kRow], text)) {
      throw "lib/leyline/telemetry/telemetry_table.h does not allow this label for this name";
    }
  }
};
template <std::size_t kRow>
struct Attribute {
  Label<kRow> label;
  std::string value;
};
template <std::size_t kRow>
using AttributeList = std::initializer_list<Attribute<kRow>>;

template <std::size_t kRow>
MetricValue metric(Metric<kRow> handle, double value, std::type_identity_t<AttributeList<kRow>> attributes = {}) {
  MetricValue out{handle.name(), value, handle.unit(), {}};
  for (const auto& [label, text] : attributes) out.attributes.emplace(label.text, text);
  return out;
}
// event_id stays empty until finish_packet.
template <std::size_t kRow>
TelemetryEvent event(Event<kRow> handle, Level level, std::type_identity_t<AttributeList<kRow>> attributes = {}) {
  TelemetryEvent out{{}, handle.name(), level, {}};
  for (const auto& [label, text] : attributes) out.attributes.emplace(label.text, text);
  return out;
}

// The first value of that metric in the packet.
template <std::size_t kRow>
std::optional<double> value_of(const TelemetryPacket& packet, Metric<kRow> handle) {
  const auto found = std::ranges::find(packet.metrics, handle.name(), &MetricValue::name);
  return found == packet.metrics.end() ? std::nullopt : std::optional(found->value);
}

// Fills what follows from the metrics and events: event ids ("evt-<n>", n counts within the packet), the packet's level
// (highest among the events, else INFO), and its health: DEGRADED by the first event of WARNING or above, whose name is
// the summary; else HEALTHY ("nominal").
// Indicators: epoch; priority MESSAGE_PRIORITY_HIGH when not healthy, else MESSAGE_PRIORITY_NORMAL. Others are kept.
void finish_packet(TelemetryPacket& packet, std::uint64_t epoch);

// The table as a document for users, and as JSON with one entry a line.
std::string telemetry_markdown();
std::string telemetry_json();

}  // namespace esper::leyline
