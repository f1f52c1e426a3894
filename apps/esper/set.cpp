// `esper set`: asks a run that trains to go on with other settings from its next epoch on.
#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>

#include "base/text/joined.h"
#include "config/loading/live_settings.h"
#include "esper/front.h"
#include "esper/run_options.h"
#include "history/setting_change.h"
#include "storage/confined_file_system.h"

namespace esper {
namespace {

using config::RunConfig;
using nlohmann::ordered_json;

struct SetOptions {
  std::string run;
  std::vector<std::string> assignments;
  bool json = false;
};

enum class When { kEndOfEpoch, kResumed };

// The lock is taken for a moment, where nobody has it.
When when_it_holds(base::FileSystem& files, const std::string& run) {
  return files.try_lock(run + "/lock") ? When::kResumed : When::kEndOfEpoch;
}

bool is_assignment(const std::string& word) {
  const auto equals = word.find('=');
  return equals != std::string::npos && equals > 0;
}

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

std::string field_of(const std::string& assignment) { return assignment.substr(0, assignment.find('=')); }

// What holds once everything that lies there is accepted.
std::vector<std::string> known_assignments(base::FileSystem& files, const std::string& run) {
  auto known = history::assignments_of(history::accepted_changes(files, run));
  for (const auto& request : history::pending_requests(files, run)) {
    const auto settings = history::read_request(files, request);
    if (!settings) continue;  // the training refuses it
    for (const auto& one : history::assignments_of(*settings)) known.push_back(one);
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

RunConfig settings_after(const RunConfig& own, std::vector<std::string> known, const SetOptions& options) {
  if (!config::with_live_settings(own, known).problems.empty()) known.clear();  // a request that will be refused
  known.insert(known.end(), options.assignments.begin(), options.assignments.end());
  auto live = config::with_live_settings(own, known);
  if (!live.problems.empty()) refuse(std::move(live.problems));
  return std::move(live.config);
}

struct Change {
  std::string before, after;
};
using Changes = std::map<std::string, Change>;  // by field

void print_changes(const SetOptions& options, const std::string& request, const Changes& changes, When when) {
  if (options.json) {
    ordered_json listed = ordered_json::array();
    for (const auto& [field, change] : changes) {
      listed.push_back({{"field", field}, {"before", change.before}, {"after", change.after}});
    }
    print_json({{"run_dir", options.run},
                {"request", request.empty() ? ordered_json() : ordered_json(request)},
                {"changes", listed},
                {"from", when == When::kEndOfEpoch ? "end_of_epoch" : "resume"}});
    return;
  }
  if (request.empty()) return print_line("nothing changes: the run has these settings, or they are requested already");
  for (const auto& [field, change] : changes) print_line(field + ": " + change.before + " -> " + change.after);
  print_line(when == When::kEndOfEpoch ? "requested; it holds from the end of the running epoch on"
                                       : "requested; nobody trains this run now: it holds from the first epoch that "
                                         "begins when the run is resumed");
}

// Those among the assigned fields that get another value than they have, or will have.
Changes changes_of(const SetOptions& options, const RunConfig& own, const std::vector<std::string>& known) {
  const RunConfig before = settings_before(own, known), after = settings_after(own, known, options);
  Changes changes;
  for (const auto& assignment : options.assignments) {
    const std::string field = field_of(assignment);
    const Change change{config::live_value(before, field), config::live_value(after, field)};
    if (change.before != change.after) changes[field] = change;
  }
  return changes;
}

int set(const SetOptions& options) {
  require_assignments(options.assignments);
  const RunConfig own = read_config_of_run(options.run).config;
  storage::ConfinedFileSystem files(options.run, storage::Owner::kAnyone);
  const Changes changes = changes_of(options, own, known_assignments(files, options.run));
  history::RequestedSettings settings;
  for (const auto& [field, change] : changes) settings[field] = change.after;
  const auto request = settings.empty() ? "" : history::publish_request(files, options.run, settings).path;
  print_changes(options, request, changes, when_it_holds(files, options.run));
  return 0;
}

}  // namespace

void add_set(Front& front) {
  CLI::App* command = add_command(front.root, "set", "Change settings of a run while it trains, from its next epoch on",
                                  "esper set runs/digits-20260301-120000 training.optimizer.lr=0.01\n"
                                  "Fields: " +
                                      config::live_fields_text());
  const auto options = std::make_shared<SetOptions>();
  command->add_option("run", options->run, "Run folder of a running or stopped run")->required()->type_name("RUN");
  command->add_option("settings", options->assignments, "Fields and their new values")
      ->required()
      ->type_name("KEY=VALUE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_json_flag(*command, options->json);
  command->callback([&front, options] { front.run = [options] { return set(*options); }; });
}

}  // namespace esper
