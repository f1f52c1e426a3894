#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/joined.h"
#include "esper/front.h"
#include "esper/run_options.h"
#include "history/telemetry/telemetry_names.h"

namespace esper {
namespace {

using base::joined;
using history::NameDifference;
using history::NamesDiff;
using history::StatusCheck;
using history::TelemetryName;
using history::TelemetryNames;
using nlohmann::ordered_json;

struct TelemetryDiffOptions {
  std::string first, second;
  bool json = false;
};

std::string text_of(const TelemetryName& name) {
  return name.name + (name.kind == TelemetryName::Kind::kEvent ? " (event)" : "");
}

void print_names(const std::string& title, const std::vector<TelemetryName>& names) {
  if (names.empty()) return;
  print(fmt::format("{}, {}:\n", title, names.size()));
  for (const TelemetryName& name : names) print_line("  " + text_of(name));
}

void print_difference(const NameDifference& difference) {
  const std::string name = "  " + text_of(difference.name) + ": ";
  if (difference.first_unit != difference.second_unit) {
    print_line(name + "unit " + difference.first_unit + " -> " + difference.second_unit);
  }
  if (!difference.only_first.empty()) print_line(name + "labels only in A: " + joined(difference.only_first));
  if (!difference.only_second.empty()) print_line(name + "labels only in B: " + joined(difference.only_second));
}

void print_statuses(const StatusCheck& statuses) {
  print_names("without a status in A", statuses.without_status);
  print_names("planned or does not apply in A, but in B", statuses.contradicted);
  print(fmt::format("reported {}, planned {}, does not apply {}\n", statuses.reported, statuses.planned,
                    statuses.does_not_apply));
}

std::string has_all(const TelemetryNames& first, const NamesDiff& diff) {
  if (!diff.statuses) return fmt::format("B has all names of A: {} names\n", first.names.size());
  return fmt::format("B has all names that A marks as reported: {} names\n", diff.statuses->reported);
}

void print_text(const TelemetryDiffOptions& options, const TelemetryNames& first, const NamesDiff& diff) {
  print_line("A: " + options.first);
  print_line("B: " + options.second);
  print_names("only in A", diff.only_first);
  print_names("only in B", diff.only_second);
  if (!diff.different.empty()) print(fmt::format("in both, but different, {}:\n", diff.different.size()));
  for (const NameDifference& difference : diff.different) print_difference(difference);
  if (diff.statuses) print_statuses(*diff.statuses);
  print(diff.second_has_all ? has_all(first, diff) : "B lacks names of A\n");
}

ordered_json json_of(const TelemetryName& name) {
  return {{"name", name.name}, {"kind", std::string(base::name_of(name.kind))}};
}

ordered_json json_of(const std::vector<TelemetryName>& names) {
  ordered_json list = ordered_json::array();
  for (const TelemetryName& name : names) list.push_back(json_of(name));
  return list;
}

ordered_json json_of(const NameDifference& difference) {
  ordered_json row = json_of(difference.name);
  if (difference.first_unit != difference.second_unit) {
    row["unit"] = {{"first", difference.first_unit}, {"second", difference.second_unit}};
  }
  row["labels_only_in_first"] = difference.only_first;
  row["labels_only_in_second"] = difference.only_second;
  return row;
}

ordered_json json_of(const StatusCheck& statuses) {
  return {{"reported", statuses.reported},
          {"planned", statuses.planned},
          {"does_not_apply", statuses.does_not_apply},
          {"without_status", json_of(statuses.without_status)},
          {"contradicted", json_of(statuses.contradicted)}};
}

ordered_json json_of(const TelemetryDiffOptions& options, const NamesDiff& diff, const std::vector<std::string>& gaps) {
  ordered_json different = ordered_json::array();
  for (const NameDifference& difference : diff.different) different.push_back(json_of(difference));
  return {{"first", options.first},
          {"second", options.second},
          {"only_in_first", json_of(diff.only_first)},
          {"only_in_second", json_of(diff.only_second)},
          {"different", different},
          {"statuses", diff.statuses ? json_of(*diff.statuses) : ordered_json()},
          {"second_has_all", diff.second_has_all},
          {"gaps", gaps}};
}

bool agrees(const NamesDiff& found) {
  if (found.statuses && !found.statuses->without_status.empty()) return false;
  if (found.statuses && !found.statuses->contradicted.empty()) return false;
  return found.second_has_all;
}

int diff_telemetry(const TelemetryDiffOptions& options) {
  const TelemetryNames first = history::read_names(options.first);
  const TelemetryNames second = history::read_names(options.second);
  const NamesDiff found = history::diff_names(first, second);
  std::vector<std::string> gaps = first.gaps;
  gaps.insert(gaps.end(), second.gaps.begin(), second.gaps.end());
  if (options.json) {
    print_json(json_of(options, found, gaps));
  } else {
    print_text(options, first, found);
    for (const std::string& gap : gaps) print_line("incomplete input: " + gap);
  }
  return agrees(found) ? 0 : kDiffers;
}

}  // namespace

void add_telemetry_diff(CLI::App& telemetry, Front& front) {
  CLI::App* command = add_command(
      telemetry, "diff", "Compare the metrics and events of two sides",
      "esper telemetry diff baselines/telemetry/reference.json table\n"
      "A and B: a list of names like that file; a run folder, or its telemetry.jsonl, for what the run reported;\n"
      "or the word table for what this build can report\n"
      "Exit code 0: B has every name of A with its unit and labels; 1: something is missing\n"
      "If A has statuses (reported; planned: WHERE; does not apply: WHY), B must have exactly the names that are\n"
      "reported; the count of each status is printed, and a name without a status gives exit code 1");
  const auto options = std::make_shared<TelemetryDiffOptions>();
  command->add_option("first", options->first, "Required names")->required()->type_name("A");
  command->add_option("second", options->second, "Names to check")->required()->type_name("B");
  add_json_flag(*command, options->json);
  command->callback([&front, options] { front.run = [options] { return diff_telemetry(*options); }; });
}

}  // namespace esper
