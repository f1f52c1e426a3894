// `esper set`: asks a run that trains to go on with other settings from its next epoch on.
#include <nlohmann/json.hpp>

#include "config/loading/live_settings.h"
#include "esper/front.h"
#include "esper/run_options.h"
#include "esper/setting_text.h"
#include "history/live_request.h"
#include "runs/ended_run.h"
#include "runs/reached_epoch.h"
#include "storage/confined_file_system.h"

namespace esper {
namespace {

using nlohmann::ordered_json;

struct SetOptions {
  std::string run;
  std::vector<std::string> assignments;
  bool json = false;
};

SettingHolds when_it_holds(const std::string& run) {
  return runs::is_training(run) ? SettingHolds::kFromEndOfEpoch : SettingHolds::kFromResume;
}

void print_changes(const SetOptions& options, const std::string& request,
                   const std::vector<history::FieldChange>& changes, SettingHolds from) {
  if (!options.json) return print(setting_text(changes, from));
  ordered_json listed = ordered_json::array();
  for (const auto& [field, before, after] : changes)
    listed.push_back({{"field", field}, {"before", before}, {"after", after}});
  print_json({{"run_dir", options.run},
              {"request", request.empty() ? ordered_json() : ordered_json(request)},
              {"changes", listed},
              {"from", from == SettingHolds::kFromEndOfEpoch ? "end_of_epoch" : "resume"}});
}

int set(const SetOptions& options) {
  history::require_assignments(options.assignments);
  const auto own = history::read_config_of_run(options.run).config;
  storage::ConfinedFileSystem files(options.run, storage::Owner::kAnyone);
  const auto changes = history::changes_to_request(files, options.run, own, options.assignments);
  if (!changes.empty()) runs::refuse_if_ended(files, options.run, own, options.assignments);
  runs::refuse_begun_epochs(files, options.run, changes);
  const auto request =
      changes.empty() ? "" : history::publish_request(files, options.run, history::settings_of(changes)).path;
  print_changes(options, request, changes, when_it_holds(options.run));
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
