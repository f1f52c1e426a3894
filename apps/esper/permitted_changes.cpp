#include "esper/permitted_changes.h"

#include "config/field_table.h"
#include "config/field_text.h"
#include "config/load.h"
#include "config/write.h"

namespace esper {
namespace {

using config::RunConfig;

constexpr const char* kPermitted =
    " may change name, runs_dir, safety, checkpoint, telemetry, step.lane and the lane settings, "
    "data.path and data.validation_path if the data is the same, data.test_path, data.workers, data.prefetch, "
    "data.pin_memory, data.persistent_workers, data.gpu_prefetch, data.gpu_dataset, settings of policies that do not "
    "decide, and epochs unless a cosine schedule (of seeds, too) ends with the run or policy.schedule or growth.deepen "
    "has percentages of it.";

}  // namespace

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
  return changes + "\n" + who + kPermitted;
}

}  // namespace esper
