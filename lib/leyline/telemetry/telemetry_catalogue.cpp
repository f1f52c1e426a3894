// The telemetry table as documents.

#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/text/joined.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::leyline {
namespace {

std::string_view to_string(TelemetryKind kind) {
  switch (kind) {
    case TelemetryKind::kCounter:
      return "counter";
    case TelemetryKind::kGauge:
      return "gauge";
    case TelemetryKind::kHistogram:
      return "histogram";
    case TelemetryKind::kEvent:
      return "event";
  }
  return "";
}

std::vector<std::string> split(std::string_view labels) {
  std::istringstream words{std::string(labels)};
  return {std::istream_iterator<std::string>(words), {}};
}

std::string markdown_row(const TelemetryEntry& entry) {
  std::string out = "| `" + std::string(entry.name) + "` | ";
  if (entry.kind != TelemetryKind::kEvent) {
    out += std::string(to_string(entry.kind)) + " | " + std::string(entry.unit) + " | ";
  }
  return out + std::string(entry.help) + " | " + base::joined(split(entry.labels)) + " |\n";
}

}  // namespace

std::string telemetry_markdown() {
  std::string out =
      "# Telemetry\n\n"
      "Generated from `lib/leyline/telemetry/telemetry_table.h`; `esper telemetry list` prints the same table. The "
      "table lists "
      "exactly the names that the code reports.\n"
      "A name without a dot is an event under the name that dashboards use; the packet's `source_subsystem` names its "
      "source.\n"
      "`baselines/telemetry/reference.json` lists what the previous system reported, each name with its status in "
      "Esper: `reported`, `planned` with the room that will report it, or `does not apply` with the reason. `esper "
      "telemetry diff baselines/telemetry/reference.json table` counts the three, and fails on a name without a "
      "status, on a wrong status, and on a missing unit or label; the same command compares what two "
      "runs reported.\n\n"
      "## Metrics\n\n| name | kind | unit | meaning | labels |\n| --- | --- | --- | --- | --- |\n";
  for (const auto& entry : kTelemetryTable) {
    if (entry.kind != TelemetryKind::kEvent) out += markdown_row(entry);
  }
  out += "\n## Events\n\n| name | meaning | labels |\n| --- | --- | --- |\n";
  for (const auto& entry : kTelemetryTable) {
    if (entry.kind == TelemetryKind::kEvent) out += markdown_row(entry);
  }
  return out;
}

std::string telemetry_json() {
  std::string out = "[\n";
  for (const auto& entry : kTelemetryTable) {
    nlohmann::ordered_json row;
    row["name"] = entry.name;
    row["kind"] = to_string(entry.kind);
    row["unit"] = entry.unit;
    row["help"] = entry.help;
    row["labels"] = split(entry.labels);
    out += "  " + row.dump() + (&entry == &kTelemetryTable.back() ? "\n" : ",\n");
  }
  return out + "]\n";
}

}  // namespace esper::leyline
