#pragma once
// Holds what a run reports against the telemetry table: of each metric the row, its unit, its labels, and what its kind
// promises. One checker for one process's packets, in their order.

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "leyline/telemetry/telemetry.h"

namespace esper::test {

class KindCheck {
 public:
  // What is wrong with the packet; empty if nothing is.
  std::string take(const leyline::TelemetryPacket& packet) {
    for (const auto& metric : packet.metrics) {
      const auto row = leyline::find_metric(metric.name);
      if (row == leyline::kTelemetryTable.size()) return std::string(metric.name) + " is no metric of the table";
      if (const auto wrong = wrong_with(metric, leyline::kTelemetryTable.at(row)); !wrong.empty()) {
        return std::string(metric.name) + " " + wrong;
      }
    }
    for (const auto& event : packet.events) {
      const auto row = leyline::find_event(event.description);
      if (row == leyline::kTelemetryTable.size()) return std::string(event.description) + " is no event of the table";
      for (const auto& [label, value] : event.attributes) {
        if (!leyline::allows_label(leyline::kTelemetryTable.at(row), label)) {
          return std::string(event.description) + " has the label " + label;
        }
      }
    }
    return {};
  }

 private:
  std::string wrong_with(const leyline::MetricValue& metric, const leyline::TelemetryEntry& row) {
    using leyline::TelemetryKind;
    if (metric.unit != row.unit) return "has the unit " + std::string(metric.unit);
    for (const auto& [label, value] : metric.attributes) {
      if (!leyline::allows_label(row, label)) return "has the label " + std::string(label);
    }
    const std::string value = std::to_string(metric.value);
    if (row.unit == "bool" && metric.value != 0 && metric.value != 1) return "is a bool of " + value;
    if (row.kind == TelemetryKind::kHistogram && row.unit == "ms" && metric.value < 0) return "took " + value;
    if (row.kind != TelemetryKind::kCounter) return {};
    if (metric.value < 0 || metric.value != std::floor(metric.value)) return "counts to " + value;
    auto& last = counted_[{std::string(metric.name), metric.attributes}];
    if (metric.value < last) return "is a counter that falls from " + std::to_string(last) + " to " + value;
    last = metric.value;
    return {};
  }

  std::map<std::pair<std::string, leyline::Attributes>, double> counted_;
};

}  // namespace esper::test
