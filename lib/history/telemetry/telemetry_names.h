#pragma once
// Which metrics and events a list, a run or this build knows, and what one of them lacks that another has. Any thread.

#include <array>
#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace esper::history {

// A metric and an event may share a name (in baselines/telemetry/reference.json tolaria.emergency.halt is both).
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

// Status of a name in a list: whether Esper reports it.
enum class NameStatus { kNotReported, kReported, kPlanned, kDoesNotApply };

struct NameFacts {
  std::string unit;  // empty: not given
  std::set<std::string> labels;
  NameStatus status = NameStatus::kNotReported;
};

struct TelemetryNames {
  std::map<TelemetryName, NameFacts> names;
  std::vector<std::string> gaps;  // what could not be read, as text
};

// What this build can report.
TelemetryNames names_of_table();

// `source`: the word "table"; a run folder, or the telemetry.jsonl in one, for what a run reported; or a file like
// baselines/telemetry/reference.json: an array of {"name", "kind", "unit", "labels", "status"}, by itself or under
// "names". A status is "reported", "planned: WHERE" or "does not apply: WHY". Needs memory for one line at a time, and
// for at most 100000 names. Damaged lines of a jsonl file are skipped and reported in the gaps. Throws base::Error:
// kConfig where there is no such file or folder, kData where nothing can be read, or a names file is not well formed.
TelemetryNames read_names(const std::string& source);

// A name that both have. Units are compared if both have one.
struct NameDifference {
  TelemetryName name;
  std::string first_unit, second_unit;               // both empty: no difference
  std::vector<std::string> only_first, only_second;  // labels
};

// A list in which one name has a status must give one to each.
struct StatusCheck {
  std::size_t reported = 0, planned = 0, does_not_apply = 0;
  std::vector<TelemetryName> without_status;
  std::vector<TelemetryName> contradicted;  // planned, or does not apply; but the second has it
};

struct NamesDiff {
  std::vector<TelemetryName> only_first, only_second;
  std::vector<NameDifference> different;
  std::optional<StatusCheck> statuses;  // where the first is a list with statuses
  bool second_has_all = true;           // each name of the first, with its unit and its labels
};

// Names of the first that are planned, or do not apply, are not looked for in the second: they are in no other list
// than `contradicted`.
NamesDiff diff_names(const TelemetryNames& first, const TelemetryNames& second);

}  // namespace esper::history
