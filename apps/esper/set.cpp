// `esper set`: asks a run that trains to go on with other settings from its next epoch on.
#include <fmt/core.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/json_fields.h"
#include "config/facts/early_stop.h"
#include "config/loading/live_settings.h"
#include "config/writing/free_fields.h"
#include "esper/front.h"
#include "esper/run_options.h"
#include "esper/setting_text.h"
#include "history/live_request.h"
#include "runs/reached_epoch.h"
#include "runs/read_run_record.h"
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

std::int64_t epochs_without_better(base::FileSystem& files, const std::string& run) {
  const double count = base::number_at(runs::saved_progress(files, run), "epochs_without_better").value_or(0);
  return count > 0 && count < 1e9 ? static_cast<std::int64_t>(count) : 0;
}

std::string way_out(base::FileSystem& files, const std::string& run, const config::RunConfig& settings) {
  if (!config::epochs_are_fixed(settings)) {
    const auto accepted = history::accepted_changes(files, run);
    return fmt::format(
        "add epochs with {}, and {}", history::command_for_epochs(run, accepted),
        history::sets_epochs(accepted) ? "then change these settings" : "change settings while it trains");
  }
  return fmt::format(
      "its schedule depends on the number of epochs, so none can be added: fork it at an earlier step (esper fork "
      "{}@STEP --no-train), and change the settings of the fork",
      run);
}

// Why no epoch would begin with these settings; empty: one would.
std::string why_over(base::FileSystem& files, const std::string& run, std::int64_t epochs,
                     const config::RunConfig& settings) {
  const auto without_better = epochs_without_better(files, run);
  if (config::stops_early(settings.training, without_better)) {
    return fmt::format(
        "after {} epochs without a better {} it would stop early at once; set training.early_stop_epochs with these "
        "settings, to more than {} or to 0, and continue with esper train --resume {}",
        without_better, base::name_of(settings.training.early_stop_metric), without_better, run);
  }
  if (epochs < settings.epochs) return {};
  return fmt::format("its {} epochs are trained: no epoch would begin with these settings; ", epochs) +
         way_out(files, run, settings);
}

void refuse_if_ended(base::FileSystem& files, const SetOptions& options, const config::RunConfig& own) {
  const auto record = runs::read_run_record(options.run);
  if (record.state != runs::RunState::kFinished) return;
  const auto settings = history::settings_with(files, options.run, own, options.assignments);
  const std::string reason = why_over(files, options.run, record.epochs, settings);
  if (!reason.empty()) throw base::Error(base::ExitCode::kConfig, options.run + " has ended: " + reason);
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
  if (!changes.empty()) refuse_if_ended(files, options, own);
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
