#include "history/live_request.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/text/joined.h"
#include "base/text/problem.h"
#include "config/loading/live_settings.h"

namespace esper::history {
namespace {

using config::RunConfig;

bool is_assignment(const std::string& word) {
  const auto equals = word.find('=');
  return equals != std::string::npos && equals > 0;
}

std::string field_of(const std::string& assignment) { return assignment.substr(0, assignment.find('=')); }

// By number. One that the training took since it was listed is left out, and so is one that it will refuse.
std::map<std::uint32_t, RequestedSettings> pending_settings(base::FileSystem& files, const std::string& run) {
  std::map<std::uint32_t, RequestedSettings> pending;
  for (const auto& request : pending_requests(files, run)) {
    try {
      if (auto settings = read_request(files, request)) pending[request.number] = std::move(*settings);
    } catch (const base::IoError& error) {
      if (error.error_number() != ENOENT) throw;
    }
  }
  return pending;
}

// What holds once everything that lies there is accepted. A run that trains moves requests to the accepted changes
// meanwhile, so these are read last.
std::vector<std::string> known_assignments(base::FileSystem& files, const std::string& run) {
  auto pending = pending_settings(files, run);
  const auto accepted = accepted_changes(files, run);
  for (const auto& change : accepted) pending.erase(change.request);
  auto known = assignments_of(accepted);
  for (const auto& [number, settings] : pending) {
    for (auto& one : assignments_of(settings)) known.push_back(std::move(one));
  }
  return known;
}

[[noreturn]] void refuse(std::vector<base::Problem> problems) {
  constexpr std::string_view kOption = "--set ";
  for (auto& problem : problems) {
    if (problem.place.file.starts_with(kOption)) problem.place.file.erase(0, kOption.size());
  }
  throw base::ConfigError(std::move(problems));
}

RunConfig settings_before(const RunConfig& own, const std::vector<std::string>& known) {
  auto live = config::with_live_settings(own, known);
  return live.problems.empty() ? std::move(live.config) : own;
}

RunConfig settings_after(const RunConfig& own, std::vector<std::string> known,
                         const std::vector<std::string>& assignments) {
  if (!config::with_live_settings(own, known).problems.empty()) known.clear();  // a request that will be refused
  known.insert(known.end(), assignments.begin(), assignments.end());
  auto live = config::with_live_settings(own, known);
  if (!live.problems.empty()) refuse(std::move(live.problems));
  return std::move(live.config);
}

}  // namespace

void require_assignments(const std::vector<std::string>& words) {
  std::vector<std::string> wrong;
  for (const auto& word : words) {
    if (!is_assignment(word)) wrong.push_back("\"" + word + "\"");
  }
  if (wrong.empty()) return;
  throw base::Error(base::ExitCode::kConfig,
                    fmt::format("{} {} not KEY=VALUE, like training.optimizer.lr=0.01; these can be changed: {}",
                                base::joined(wrong), wrong.size() == 1 ? "is" : "are", config::live_fields_text()));
}

std::vector<FieldChange> changes_to_request(base::FileSystem& files, const std::string& run, const RunConfig& own,
                                            const std::vector<std::string>& assignments) {
  require_assignments(assignments);
  const auto known = known_assignments(files, run);
  const RunConfig before = settings_before(own, known), after = settings_after(own, known, assignments);
  std::map<std::string, FieldChange> changes;
  for (const auto& assignment : assignments) {
    const std::string field = field_of(assignment);
    FieldChange change{field, config::live_value(before, field), config::live_value(after, field)};
    if (change.before != change.after) changes[field] = std::move(change);
  }
  std::vector<FieldChange> list;
  for (auto& [field, change] : changes) list.push_back(std::move(change));
  return list;
}

RunConfig settings_with(base::FileSystem& files, const std::string& run, const RunConfig& own,
                        const std::vector<std::string>& assignments) {
  return settings_after(own, known_assignments(files, run), assignments);
}

RequestedSettings settings_of(const std::vector<FieldChange>& changes) {
  RequestedSettings settings;
  for (const auto& change : changes) settings[change.field] = change.after;
  return settings;
}

bool sets_epochs(const SettingChanges& changes) {
  return std::ranges::count(changes, "epochs", &SettingChange::field) > 0;
}

std::string command_for_epochs(const std::string& run, const SettingChanges& accepted) {
  return sets_epochs(accepted) ? fmt::format("esper set {} epochs=N", run)
                               : fmt::format("esper train --resume {} --set epochs=N", run);
}

}  // namespace esper::history
