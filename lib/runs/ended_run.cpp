#include "runs/ended_run.h"

#include <fmt/core.h>

#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/text/json_fields.h"
#include "config/facts/early_stop.h"
#include "config/writing/free_fields.h"
#include "history/live_request.h"
#include "runs/reached_epoch.h"
#include "runs/read_run_record.h"

namespace esper::runs {
namespace {

std::int64_t epochs_without_better(base::FileSystem& files, const std::string& run) {
  const double count = base::number_at(saved_progress(files, run), "epochs_without_better").value_or(0);
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

}  // namespace

void refuse_if_ended(base::FileSystem& files, const std::string& run, const config::RunConfig& own,
                     const std::vector<std::string>& assignments) {
  const auto record = read_run_record(run);
  if (record.state != RunState::kFinished) return;
  const auto settings = history::settings_with(files, run, own, assignments);
  const std::string reason = why_over(files, run, record.epochs, settings);
  if (!reason.empty()) throw base::Error(base::ExitCode::kConfig, run + " has ended: " + reason);
}

}  // namespace esper::runs
