// `esper runs list`
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/joined.h"
#include "base/text/nearest.h"
#include "base/text/printable.h"
#include "config/fields/field_table.h"
#include "config/fields/field_text.h"
#include "config/fields/removed_fields.h"
#include "config/loading/assignment.h"
#include "config/loading/read_value.h"
#include "esper/run_options.h"
#include "esper/runs/run_text.h"
#include "esper/runs/runs.h"
#include "runs/config_text.h"
#include "runs/run_folder_reader.h"
#include "runs/select_runs.h"

namespace esper {
namespace {

using nlohmann::ordered_json;
using runs::RunRecord;

constexpr std::size_t kReasonsShown = 10;

struct RunsListOptions {
  std::vector<std::string> roots, config_keys;
  std::string state, since, sort;
  runs::Selection selection;
  bool json = false;
};

// A field, and its value as config.yaml has it.
struct FieldWanted {
  std::string path, value;
};

const config::YamlNode* node_at(const config::YamlNode& root, std::string_view path) {
  const config::YamlNode* node = &root;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    const auto entry = std::ranges::find(node->entries, path.substr(0, dot), &config::YamlEntry::key);
    node = entry == node->entries.end() ? nullptr : &entry->value;
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return node;
}

std::string hint_of_nearest(const std::string& key, const std::vector<config::FieldRow>& rows) {
  std::vector<std::string> paths;
  for (const auto& known : rows) paths.push_back(known.path);
  const auto close = base::nearest(key, paths);
  return close ? "; did you mean " + *close + "?" : "";
}

// A section is mostly meant to be of a kind: "host=cnn" -> "host.kind=cnn".
std::string hint_of_section(const std::string& section, const std::string& value,
                            const std::vector<config::FieldRow>& rows) {
  std::vector<std::string> keys;
  for (const auto& row : rows) {
    if (row.section() != section) continue;
    keys.push_back(row.path);
    const auto* kind = row.key() == "kind" ? std::get_if<config::EnumField>(&row.value) : nullptr;
    if (kind != nullptr && std::ranges::count(kind->names, value) > 0) {
      return "; did you mean " + row.path + "=" + value + "?";
    }
  }
  return ": " + section + " is a section; its keys: " + base::joined(keys);
}

// "training.optimizer.lr=1e-2" -> 0.01, as the field's type has it.
FieldWanted field_wanted(const std::string& assignment) {
  const std::string key = assignment.substr(0, assignment.find('='));
  if (const auto* const removed = config::removed_field(key))
    throw base::Error(base::ExitCode::kConfig, "--config-key: " + key + ": " + std::string(removed->refused));
  config::RunConfig config;
  const auto rows = config::field_table(config);
  const auto row = std::ranges::find(rows, key, &config::FieldRow::path);
  const bool has_value = key.size() < assignment.size();
  if (row == rows.end() || row->is_section() || !has_value) {
    const std::string value = has_value ? assignment.substr(key.size() + 1) : "";
    const std::string hint = row == rows.end()   ? hint_of_nearest(key, rows)
                             : row->is_section() ? hint_of_section(key, value, rows)
                                                 : "";
    throw base::Error(base::ExitCode::kConfig,
                      "--config-key: " + base::in_quotes(assignment) + " is not FIELD=VALUE of a run file" + hint);
  }
  auto document = config::assignment_document(assignment);
  auto problems = document.problems;
  if (const auto* node = node_at(document.root, key)) config::read_value(*row, *node, problems);
  if (!problems.empty()) throw base::ConfigError(std::move(problems));
  return {key, config::field_yaml(row->value)};
}

bool has_fields(const RunRecord& record, const std::vector<FieldWanted>& wanted) {
  try {
    const auto text = runs::FolderReader(record.path).read("config.yaml", config::YamlLimits::kBytes);
    const auto config = runs::ConfigText::read(text);
    return config && std::ranges::all_of(
                         wanted, [&](const FieldWanted& field) { return config->value_of(field.path) == field.value; });
  } catch (const base::Error&) {
    return false;
  }
}

void print_runs(const std::vector<RunRecord>& records, const std::vector<std::string>& problems) {
  if (records.empty()) {
    print("no runs\n");
  } else {
    std::uint64_t bytes = 0;
    for (const auto& record : records) bytes += record.bytes;
    print(run_table(records) +
          fmt::format("\n{} {}, {}\n", records.size(), records.size() == 1 ? "run" : "runs", bytes_text(bytes)));
  }
  std::size_t damaged = 0;
  for (const auto& record : records) {
    if (record.state != runs::RunState::kDamaged || ++damaged > kReasonsShown) continue;
    print_line("note: " + record.path + " is damaged: " + record.reason);
  }
  if (damaged > kReasonsShown) {
    print_line(fmt::format("note: {} more damaged; --json has all reasons", damaged - kReasonsShown));
  }
  for (const auto& problem : problems) print_line("note: not searched: " + problem);
}

int list_runs(const RunsListOptions& options) {
  runs::Selection selection = options.selection;
  selection.states = states_in(options.state);
  if (!options.since.empty()) selection.written_ms = now_ms() - age_in("--since", options.since);
  if (const auto sort = base::from_name<runs::SortKey>(options.sort)) selection.sort = *sort;
  std::vector<FieldWanted> wanted;
  for (const auto& assignment : options.config_keys) wanted.push_back(field_wanted(assignment));
  auto found = runs_below(options.roots);
  std::erase_if(found.runs, [&](const RunRecord& record) {
    return !runs::fits(record, selection) || (!wanted.empty() && !has_fields(record, wanted));
  });
  const auto records = runs::select_runs(std::move(found.runs), selection);
  if (options.json) {
    print_json({{"runs", records_json(records)}, {"problems", found.problems}});
  } else {
    print_runs(records, found.problems);
  }
  return 0;
}

std::vector<std::string> sort_keys() {
  std::vector<std::string> keys;
  for (const auto& [key, name] : names(runs::SortKey{})) keys.emplace_back(name);
  return keys;
}

}  // namespace

void add_runs_list(CLI::App& runs, Front& front) {
  CLI::App* command = add_command(runs, "list", "Print a table of the runs in some folders",
                                  "esper runs list --state finished --config-key host.kind=cnn --sort best --limit 10");
  const auto options = std::make_shared<RunsListOptions>();
  add_roots_option(*command, options->roots);
  command
      ->add_option("--state", options->state,
                   "Only runs in these states, with commas between them: " + base::all_names<runs::RunState>())
      ->type_name("STATE")
      ->check(refuse_empty);
  command
      ->add_option("--name", options->selection.name_pattern,
                   "Only run folders whose name matches this pattern; * matches any text")
      ->type_name("PATTERN")
      ->check(refuse_empty);
  command
      ->add_option("--config-key", options->config_keys,
                   "Only runs whose config.yaml, which esper set does not change, has this value of a field: "
                   "training.optimizer.lr=0.02; may be repeated")
      ->type_name("FIELD=VALUE")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  command->add_option("--since", options->since, "Only runs that have written something within this time: 12h, 7d, 2w")
      ->type_name("AGE")
      ->check(refuse_empty);
  command
      ->add_option("--sort", options->sort,
                   "Order: started (default, newest first), name, state, epochs, best, last, duration, bytes")
      ->type_name("KEY")
      ->check(CLI::IsMember(sort_keys()));
  command->add_option("--limit", options->selection.limit, "Print at most this many runs")
      ->type_name("N")
      ->check(whole_number(1));
  add_json_flag(*command, options->json);
  command->callback([&front, options] { front.run = [options] { return list_runs(*options); }; });
}

}  // namespace esper
