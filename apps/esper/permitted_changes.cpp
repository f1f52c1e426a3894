#include "esper/permitted_changes.h"

#include <fmt/core.h>

#include "config/fields/field_table.h"
#include "config/fields/field_text.h"
#include "config/loading/load.h"
#include "config/writing/free_fields.h"
#include "config/writing/write.h"

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

}  // namespace esper
