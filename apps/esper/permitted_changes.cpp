#include "esper/permitted_changes.h"

#include <fmt/core.h>

#include "config/fields/field_table.h"
#include "config/fields/field_text.h"
#include "config/loading/live_settings.h"
#include "config/loading/load.h"
#include "config/writing/free_fields.h"
#include "config/writing/write.h"
#include "esper/run_options.h"
#include "history/setting_change.h"
#include "storage/confined_file_system.h"

namespace esper {

using config::RunConfig;

std::string forbidden_changes(const RunConfig& before, const RunConfig& after, const std::string& who) {
  if (config::training_hash(before) == config::training_hash(after)) return "";
  const std::string text = config::resolved_yaml(before);
  RunConfig old_config = before, new_config = after;
  const auto rows = config::field_table(old_config);
  const auto others = config::field_table(new_config);
  std::string changes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string old_value = config::field_yaml(rows[i].value), value = config::field_yaml(others[i].value);
    if (old_value == value) continue;
    const auto alone = config::read_run_config_text(text, "the run's file", {rows[i].path + "=" + value});
    if (config::training_hash(alone.config) == config::training_hash(before)) continue;
    changes += "\n  " + rows[i].path + ": " + old_value + " -> " + value;
  }
  return fmt::format("{}\n{} may change {}.", changes, who, config::free_fields_text());
}

void refuse_overridden(const std::string& run, const RunConfig& before, const RunConfig& after,
                       const std::vector<std::string>& assignments) {
  storage::ConfinedFileSystem files(run, storage::Owner::kAnyone);
  std::string fields;
  for (const auto& change : history::accepted_changes(files, run)) {
    const bool differs = config::live_value(before, change.field) != config::live_value(after, change.field);
    if (!differs && !sets(assignments, change.field)) continue;
    fields += fmt::format("\n  {}: {} from epoch {} on", change.field, change.value, change.epoch);
  }
  if (fields.empty()) return;
  throw base::Error(
      base::ExitCode::kConfig,
      fmt::format("these settings were changed while {} trained, which holds:{}\nLeave them out, and change "
                  "them with esper set RUN KEY=VALUE",
                  run, fields));
}

}  // namespace esper
