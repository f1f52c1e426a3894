#include "esper/permitted_changes.h"

#include "leyline/config/field_table.h"
#include "leyline/config/field_text.h"
#include "leyline/config/load.h"
#include "leyline/config/write.h"

namespace esper {
namespace {

using leyline::RunConfig;

constexpr const char* kPermitted =
    " may change name, runs_dir, safety, checkpoint, telemetry, step.lane and how lanes are made, "
    "data.path and data.validation_path if the data is the same, data.workers, data.prefetch, data.pin_memory, "
    "data.persistent_workers, data.gpu_prefetch, data.gpu_dataset, "
    "and epochs unless a cosine schedule ends with the run.";

}  // namespace

std::string forbidden_changes(const RunConfig& before, const RunConfig& after, const std::string& who) {
  if (leyline::training_hash(before) == leyline::training_hash(after)) return "";
  const std::string text = leyline::resolved_yaml(before);
  RunConfig old_config = before, new_config = after;
  const auto rows = leyline::field_table(old_config);
  const auto others = leyline::field_table(new_config);
  std::string changes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string old_value = leyline::field_yaml(rows[i].value), value = leyline::field_yaml(others[i].value);
    if (old_value == value) continue;
    const auto alone = leyline::read_run_config_text(text, "the run's file", {rows[i].path + "=" + value});
    if (leyline::training_hash(alone.config) == leyline::training_hash(before)) continue;
    changes += "\n  " + rows[i].path + ": " + old_value + " -> " + value;
  }
  return changes + "\n" + who + kPermitted;
}

}  // namespace esper
