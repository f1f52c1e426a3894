#include "data/table/table_columns.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/names.h"
#include "base/text/nearest.h"
#include "base/text/printable.h"
#include "data/files/csv_field.h"
#include "data/files/input_error.h"
#include "data/files/target_number.h"

namespace esper::data {
namespace {

using Names = std::vector<std::string>;

bool holds(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string no_such_column(const std::string& name, const Names& header) {
  const auto near = base::nearest(name, header);
  return fmt::format("has no column {}{}{}", base::in_quotes(name),
                     near ? "; did you mean " + base::in_quotes(*near) + "?" : "",
                     header.size() == 1 ? hint_of_separator(header.front()) : "");
}

void require_known(const Names& names, const Names& header, const std::string& key, const std::filesystem::path& file) {
  std::set<std::string> seen;
  for (const auto& name : names) {
    if (!holds(header, name)) fail_config("columns." + key, file.string() + " " + no_such_column(name, header));
    if (!seen.insert(name).second) fail_config("columns." + key, base::in_quotes(name) + " occurs twice");
  }
}

}  // namespace

TableEncoding chosen_columns(const Names& header, const config::ColumnsConfig& config, config::Task task,
                             const std::filesystem::path& file) {
  require_known(config.target, header, "target", file);
  require_known(config.features, header, "features", file);
  require_known(config.categorical, header, "categorical", file);
  TableEncoding encoding;
  encoding.missing = config.missing;
  encoding.targets = config.target.empty() ? Names{header.back()} : config.target;
  if (!has_number_targets(task) && encoding.targets.size() > 1) {
    fail_config("columns.target",
                fmt::format("task {} has one target, not {}; several are for multilabel and regression",
                            base::name_of(task), encoding.targets.size()));
  }
  auto inputs = config.features;
  if (inputs.empty()) {
    std::copy_if(header.begin(), header.end(), std::back_inserter(inputs),
                 [&](const auto& name) { return !holds(encoding.targets, name); });
  }
  for (const auto& name : inputs) {
    if (holds(encoding.targets, name)) fail_config("columns.features", base::in_quotes(name) + " is a target as well");
    encoding.inputs.push_back({.name = name, .is_word = holds(config.categorical, name)});
  }
  for (const auto& name : config.categorical) {
    if (!holds(inputs, name)) fail_config("columns.categorical", base::in_quotes(name) + " is not one of the features");
  }
  if (inputs.empty()) {
    fail_input(file, "line 1", "there is no column besides the target" + hint_of_separator(header.front()));
  }
  return encoding;
}

std::vector<std::size_t> fields_of(const Names& columns, const Names& header, const std::filesystem::path& file) {
  std::vector<std::size_t> fields;
  for (const auto& name : columns) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) fail_input(file, "line 1", no_such_column(name, header));
    fields.push_back(static_cast<std::size_t>(found - header.begin()));
  }
  return fields;
}

}  // namespace esper::data
