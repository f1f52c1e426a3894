#include "history/telemetry/packet_reader.h"

#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/json_fields.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::history {
namespace {

using base::member;
using base::text_at;
using nlohmann::json;

leyline::Attributes attributes_of(const json& object, const std::string& name) {
  leyline::Attributes attributes;
  const json& found = member(object, name);
  if (!found.is_object()) return attributes;
  for (const auto& [key, value] : found.items()) {
    if (value.is_string()) attributes[key] = value.get<std::string>();
  }
  return attributes;
}

leyline::Level level_of(const json& object) {
  return base::from_name<leyline::Level>(text_at(object, "level")).value_or(leyline::Level::kInfo);
}

void take_metric(const json& document, leyline::TelemetryPacket& packet) {
  const auto row = leyline::find_metric(text_at(document, "name"));
  const auto value = base::number_at(document, "value");
  if (row == leyline::kTelemetryTable.size() || !value) return;
  const auto& entry = leyline::kTelemetryTable[row];
  packet.metrics.push_back({entry.name, *value, entry.unit, attributes_of(document, "attributes")});
}

void take_event(const json& document, leyline::TelemetryPacket& packet) {
  const auto row = leyline::find_event(text_at(document, "description"));
  if (row == leyline::kTelemetryTable.size()) return;
  packet.events.push_back({text_at(document, "event_id"), leyline::kTelemetryTable[row].name, level_of(document),
                           attributes_of(document, "attributes")});
}

}  // namespace

leyline::TelemetryPacket packet_from(const json& document) {
  leyline::TelemetryPacket packet;
  packet.packet_id = text_at(document, "packet_id");
  packet.timestamp = text_at(document, "timestamp");
  packet.source_subsystem = text_at(document, "source_subsystem");
  packet.level = level_of(document);
  for (const json& metric : member(document, "metrics")) take_metric(metric, packet);
  for (const json& event : member(document, "events")) take_event(event, packet);
  const json& health = member(document, "system_health");
  packet.system_health.status =
      base::from_name<leyline::Health>(text_at(health, "status")).value_or(leyline::Health::kHealthy);
  packet.system_health.summary = text_at(health, "summary");
  packet.system_health.indicators = attributes_of(health, "indicators");
  return packet;
}

}  // namespace esper::history
