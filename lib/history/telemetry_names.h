#pragma once
// Which metrics and events a list, a run or this build knows, and what one of them lacks that another has. Any thread.

#include <array>
#include <compare>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace esper::history {

// A metric and an event may share a name (tolaria.emergency.halt is both).
struct TelemetryName {
  enum class Kind { kMetric, kEvent };
  std::string name;
  Kind kind = Kind::kMetric;
  auto operator<=>(const TelemetryName&) const = default;
};
constexpr auto names(TelemetryName::Kind) {
  using K = TelemetryName::Kind;
  return std::array{std::pair{K::kMetric, "metric"}, std::pair{K::kEvent, "event"}};
}

struct NameFacts {
  std::string unit;  // empty: not told
  std::set<std::string> labels;
};

struct TelemetryNames {
  std::map<TelemetryName, NameFacts> names;
  std::vector<std::string> gaps;  // what could not be read, in words
};

// What this build can report.
TelemetryNames names_of_table();

// `source`: the word "table"; a run folder, or the telemetry.jsonl in one, for what a run reported; or a file like
// baselines/telemetry/reference.json: an array of {"name", "kind", "unit", "labels"}, by itself or under "names". Needs
// memory for one line at a time, and for at most 100000 names. What is damaged in a jsonl file is left out and told in
// the gaps. Throws base::Error: kConfig where there is no such file or folder, kData where nothing can be
// read, or a names file is not well formed.
TelemetryNames read_names(const std::string& source);

// A name that both have. Units are compared where both tell one.
struct NameDifference {
  TelemetryName name;
  std::string first_unit, second_unit;               // both empty: no difference
  std::vector<std::string> only_first, only_second;  // labels
};

struct NamesDiff {
  std::vector<TelemetryName> only_first, only_second;
  std::vector<NameDifference> different;
  bool second_has_all = true;  // each name of the first, with its unit and its labels
};

NamesDiff diff_names(const TelemetryNames& first, const TelemetryNames& second);

}  // namespace esper::history
