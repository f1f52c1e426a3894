#include "drill/drill.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/error.h"
#include "base/fault.h"
#include "base/parse_number.h"
#include "base/text/nearest.h"
#include "base/text/printable.h"
#include "config/fields/field_rows.h"
#include "config/loading/assignment.h"
#include "config/loading/section_reader.h"
#include "config/yaml/yaml_document.h"
#include "drill/fault_points.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::drill {
namespace {

std::vector<base::Place> places_in_list(const config::YamlNode& root, std::string_view key) {
  std::vector<base::Place> places;
  for (const auto& entry : root.entries) {
    if (entry.key != key) continue;
    for (const auto& item : entry.value.items) places.push_back(item.place);
  }
  return places;
}

LoadedDrill read_document(const config::YamlDocument& document, const std::string& file) {
  LoadedDrill out{.drill = {}, .problems = document.problems};
  out.drill.name = std::filesystem::path(file).stem();
  const bool is_unreadable = !out.problems.empty() && document.root.kind != config::YamlNode::Kind::kMap;
  if (is_unreadable) return out;
  std::vector<config::FieldRow> rows;
  config::append_rows(out.drill, "", rows);
  config::SectionReader reader(std::move(rows), out.problems);
  reader.read(document.root);
  out.drill.set_places = places_in_list(document.root, "set");
  config::Findings findings;
  out.drill.validate(findings);
  const auto of_their_own = out.problems;
  for (auto& finding : findings) {
    // A value of the wrong type is not read, and not missing either.
    const bool is_known = std::ranges::find(of_their_own, finding.path, &base::Problem::path) != of_their_own.end();
    if (!is_known) reader.report(finding.path, std::move(finding.text));
  }
  std::ranges::stable_sort(out.problems, {}, [](const base::Problem& problem) {
    return std::pair(problem.place.line, problem.place.column);
  });
  if (!out.drill.run.empty())
    out.drill.run = (std::filesystem::path(file).parent_path() / out.drill.run).lexically_normal();
  return out;
}

bool is_event(std::string_view name) { return leyline::find_event(name) < leyline::kTelemetryTable.size(); }

}  // namespace

base::Problem at_own_place(base::Problem problem, const Drill& drill) {
  const auto& set = drill.set;
  const auto own = std::ranges::find(set, problem.place.file, &config::assignment_origin);
  const auto index = static_cast<std::size_t>(own - set.begin());
  if (index >= std::min(set.size(), drill.set_places.size())) return problem;
  const std::string field = problem.path.empty() ? "" : problem.path + ": ";
  return {drill.set_places[index], "set", fmt::format("{}: {}{}", base::shortened(*own), field, problem.text)};
}

std::string problem_of_fault(const std::string& entry) {
  if (entry.find(',') != std::string::npos)
    return fmt::format("\"{}\" names several fault points; write one per entry", entry);
  if (auto problem = base::fault::problem_of(entry); !problem.empty()) return problem;
  const auto names = fault_point_names();
  const std::string name = entry.substr(0, entry.find('@'));
  if (std::ranges::find(names, name) != names.end()) return {};
  const auto close = base::nearest(name, names);
  return fmt::format("there is no fault point {}; {}", name,
                     close ? "did you mean " + *close + "?" : "docs/drills.md has all of them");
}

base::Expected<ExpectedEvent> parse_expected_event(std::string_view entry) {
  const auto at = entry.find('=');
  ExpectedEvent event{std::string(entry.substr(0, at)), {}};
  if (!is_event(event.name)) return base::failure(fmt::format("no event has the name {}", event.name));
  if (at == std::string_view::npos) return event;
  const auto times = base::parse_number<std::int64_t>(entry.substr(at + 1));
  if (!times || *times < 1)
    return base::failure(fmt::format("{}: the number of times after = must be 1 or more", entry));
  event.times = *times;
  return event;
}

void Drill::validate(config::Findings& out) const {
  if (about.empty()) out.push_back({"about", "is missing; say in a sentence what is disturbed", {}});
  if (run.empty()) out.push_back({"run", "is missing; name a run file, relative to this one", {}});
  for (const auto& entry : expect.events) {
    if (const auto event = parse_expected_event(entry); !event)
      out.push_back({"expect.events", event.error() + "; esper telemetry list has all of them", {}});
  }
  std::vector<std::string> names;
  for (const auto& entry : expect.events) names.push_back(entry.substr(0, entry.find('=')));
  names.insert(names.end(), expect.absent.begin(), expect.absent.end());
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end())
    out.push_back({"expect.events", fmt::format("{} is named twice, here and in expect.absent together", *twice), {}});
  for (const auto& entry : expect.absent) {
    if (!is_event(entry)) out.push_back({"expect.absent", fmt::format("no event has the name {}", entry), {}});
  }
  const auto before_faults = out.size();
  for (const auto& entry : faults) {
    if (auto problem = problem_of_fault(entry); !problem.empty()) out.push_back({"faults", std::move(problem), {}});
  }
  const std::string together = fmt::format("{}", fmt::join(faults, ","));
  if (auto problem = base::fault::problem_of(together); out.size() == before_faults && !problem.empty())
    out.push_back({"faults", std::move(problem), {}});
  if (damage != Damage::kNone && then == Then::kNothing)
    out.push_back({"damage", "has no effect with then: nothing; add then: resume", {}});
  if (!expect.run_folder && (expect.same_bits || !expect.events.empty()))
    out.push_back(
        {"expect.run_folder", "a process without a run folder reports no events and has no result to compare", {}});
  if (expect.same_bits && expect.exit_status != 0 && then == Then::kNothing)
    out.push_back({"expect.same_bits",
                   "a run that does not end has no result to compare; add then: resume, or write same_bits: false",
                   {}});
}

LoadedDrill read_drill(const std::string& path) { return read_document(config::read_yaml(path), path); }

LoadedDrill read_drill_text(std::string_view text, const std::string& file) {
  return read_document(config::parse_yaml(text, file), file);
}

std::vector<Drill> load_drills(const std::vector<std::string>& paths) {
  std::vector<Drill> drills;
  std::vector<base::Problem> problems;
  for (const auto& path : paths) {
    auto loaded = read_drill(path);
    std::ranges::move(loaded.problems, std::back_inserter(problems));
    drills.push_back(std::move(loaded.drill));
  }
  if (!problems.empty()) throw base::ConfigError(std::move(problems));
  return drills;
}

}  // namespace esper::drill
