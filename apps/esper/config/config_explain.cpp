#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text/nearest.h"
#include "base/text/printable.h"
#include "config/fields/field_table.h"
#include "config/fields/field_text.h"
#include "config/fields/removed_fields.h"
#include "esper/front.h"
#include "esper/run_options.h"

namespace esper {
namespace {

using config::FieldRow;
using nlohmann::ordered_json;

struct ExplainOptions : ConfigOptions {
  std::string key;
};

// A field that is the key, or lies in the section that is the key.
bool is_asked_for(const std::string& path, const std::string& key) {
  return key.empty() || path == key || path.starts_with(key + ".");
}

// Of the fields and sections whose name is nearest to the key's last part, the one whose path is nearest to the key;
// where no name is near, the nearest path.
std::optional<std::string> nearest_path(const std::string& key, const std::vector<FieldRow>& rows) {
  std::vector<std::string> names, paths;
  for (const FieldRow& row : rows) {
    names.push_back(row.key());
    paths.push_back(row.path);
  }
  const auto name = base::nearest(key.substr(key.rfind('.') + 1), names);
  if (!name) return base::nearest(key, paths);
  std::erase_if(paths, [&](const std::string& path) { return path.substr(path.rfind('.') + 1) != *name; });
  return *std::ranges::min_element(paths, {}, [&](auto& path) { return base::edit_distance(key, path); });
}

[[noreturn]] void fail_unknown(const std::string& key, const std::vector<FieldRow>& rows) {
  if (const auto* const removed = config::removed_field(key))
    throw base::Error(base::ExitCode::kConfig, key + ": " + std::string(removed->refused));
  const auto close = nearest_path(key, rows);
  throw base::Error(base::ExitCode::kConfig,
                    "there is no field " + base::in_quotes(key) + (close ? "; did you mean " + *close + "?" : ""));
}

// The origins, in JSON, of a value that nobody gave: the default, and one that was fitted to what was given.
constexpr const char *kNotSet = "default", *kFitted = "fitted";

std::string origin_of(const FieldRow& row, const FieldRow& standard, const config::LoadedConfig& loaded) {
  const auto given = loaded.origins.find(row.path);
  if (given != loaded.origins.end()) return to_string(given->second);
  return config::field_json(row.value) == config::field_json(standard.value) ? kNotSet : kFitted;
}

std::string origin_text(const std::string& origin) {
  if (origin == kNotSet) return "not set";
  return origin == kFitted ? "follows from other fields" : "set by " + base::printable_line(origin);
}

ordered_json as_json(const FieldRow& row, const FieldRow& standard, const std::string& origin) {
  ordered_json json = {
      {"path", row.path}, {"value", config::field_json(row.value)}, {"default", config::field_json(standard.value)},
      {"origin", origin}, {"type", config::type_text(row.value)},   {"help", std::string(row.help)}};
  json["minimum"] = row.limits.min ? ordered_json(*row.limits.min) : ordered_json(nullptr);
  json["maximum"] = row.limits.max ? ordered_json(*row.limits.max) : ordered_json(nullptr);
  return json;
}

std::string as_text(const FieldRow& row, const FieldRow& standard, const std::string& origin) {
  const std::string limits = config::limits_text(row.limits);
  std::string text = row.path + ": " + config::field_yaml(row.value) + "\n";
  text += "  " + std::string(row.help) + "\n";
  text += "  " + config::type_text(row.value) + (limits.empty() ? "" : ", " + limits) + "; default " +
          config::field_yaml(standard.value) + "; " + origin_text(origin) + "\n";
  return text;
}

int explain(const ExplainOptions& options) {
  config::LoadedConfig loaded = load_or_throw(options);
  config::RunConfig defaults;
  const std::vector<FieldRow> rows = config::field_table(loaded.config);
  const std::vector<FieldRow> standard = config::field_table(defaults);
  ordered_json list = ordered_json::array();
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].is_section() || !is_asked_for(rows[i].path, options.key)) continue;
    const std::string origin = origin_of(rows[i], standard[i], loaded);
    list.push_back(as_json(rows[i], standard[i], origin));
    text += as_text(rows[i], standard[i], origin);
  }
  if (list.empty()) fail_unknown(options.key, rows);
  if (options.json) {
    print_json(list);
  } else {
    print(text);
  }
  return 0;
}

}  // namespace

void add_config_explain(CLI::App& config, Front& front) {
  CLI::App* command = add_command(config, "explain", "Print each field's value, default, origin, limits and meaning",
                                  "esper config explain configs/run/digits.yaml training.optimizer");
  const auto options = std::make_shared<ExplainOptions>();
  add_config_options(*command, *options);
  command->add_option("key", options->key, "A field or a section; default: all")->type_name("KEY");
  command->callback([&front, options] { front.run = [options] { return explain(*options); }; });
}

}  // namespace esper
