#include "nissa/json_line.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/names.h"
#include "base/text/printable.h"
#include "base/text/utf8.h"

namespace esper::nissa {
namespace {

void append_escaped(char c, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += "\\u00";
      out += kHex[static_cast<std::uint8_t>(c) >> 4];
      out += kHex[c & 15];
  }
}

void append_string(std::string_view text, std::string& out) {
  out += '"';
  while (!text.empty()) {
    const char first = text.front();
    const int length = base::utf8_length(text);
    if (length < 0) {
      out += "\xEF\xBF\xBD";
    } else if (static_cast<std::uint8_t>(first) < 0x20 || first == '"' || first == '\\') {
      append_escaped(first, out);
    } else if (base::is_steering(text)) {
      out += base::printable_json(text.substr(0, length));
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(static_cast<std::size_t>(std::abs(length)));
  }
  out += '"';
}

void append_number(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}

// Appends ,"key": with the comma left out at the start of an object.
void append_key(std::string_view key, std::string& out) {
  if (out.back() != '{') out += ',';
  out += '"';
  out += key;
  out += "\":";
}
void append_member(std::string_view key, std::string_view value, std::string& out) {
  append_key(key, out);
  append_string(value, out);
}

void append_attributes(std::string_view key, const leyline::Attributes& attributes, std::string& out) {
  append_key(key, out);
  out += '{';
  for (const auto& [name, value] : attributes) {
    if (out.back() != '{') out += ',';
    append_string(name, out);
    out += ':';
    append_string(value, out);
  }
  out += '}';
}

void append_metric(const leyline::MetricValue& metric, std::string& out) {
  out += '{';
  append_member("name", metric.name, out);
  append_key("value", out);
  append_number(metric.value, out);
  append_member("unit", metric.unit, out);
  append_attributes("attributes", metric.attributes, out);
  out += '}';
}

void append_event(const leyline::TelemetryEvent& event, std::string& out) {
  out += '{';
  append_member("event_id", event.event_id, out);
  append_member("description", event.description, out);
  append_member("level", base::name_of(event.level), out);
  append_attributes("attributes", event.attributes, out);
  out += '}';
}

template <class List, class Append>
void append_list(std::string_view key, const List& list, Append append_element, std::string& out) {
  append_key(key, out);
  out += '[';
  for (const auto& element : list) {
    if (&element != &list.front()) out += ',';
    append_element(element, out);
  }
  out += ']';
}

}  // namespace

void append_json_line(const leyline::TelemetryPacket& packet, std::string& out) {
  out += '{';
  append_member("packet_id", packet.packet_id, out);
  append_member("timestamp", packet.timestamp, out);
  append_member("source_subsystem", packet.source_subsystem, out);
  append_member("level", base::name_of(packet.level), out);
  append_list("metrics", packet.metrics, append_metric, out);
  append_list("events", packet.events, append_event, out);
  append_key("system_health", out);
  out += '{';
  append_member("status", base::name_of(packet.system_health.status), out);
  append_member("summary", packet.system_health.summary, out);
  append_attributes("indicators", packet.system_health.indicators, out);
  out += "}}\n";
}

}  // namespace esper::nissa
