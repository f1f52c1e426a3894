// `esper runs compare`
#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/expected.h"
#include "base/names.h"
#include "base/text/aligned.h"
#include "base/text/printable.h"
#include "config/fields/field_differences.h"
#include "esper/run_options.h"
#include "esper/runs/run_text.h"
#include "esper/runs/runs.h"
#include "history/setting_change.h"
#include "runs/read_run_record.h"
#include "storage/confined_file_system.h"

namespace esper {
namespace {

using config::FieldDifference;
using nlohmann::ordered_json;
using runs::RunRecord;
using Lines = std::vector<std::vector<std::string>>;

struct RunsCompareOptions {
  std::vector<std::string> runs;
  bool json = false;
};

template <class TextOf>
void add_line(Lines& lines, const std::string& title, const std::vector<RunRecord>& records, const TextOf& text_of) {
  std::vector<std::string> line{title};
  for (const RunRecord& record : records) line.push_back(base::printable_line(text_of(record)));
  lines.push_back(std::move(line));
}

std::set<std::string> metrics_of(const std::vector<RunRecord>& records) {
  std::set<std::string> metrics;
  for (const RunRecord& record : records) {
    for (const auto& [metric, figure] : record.last.figures) metrics.insert(metric);
  }
  return metrics;
}

std::string comparison_table(const std::vector<RunRecord>& records, const std::vector<FieldDifference>& fields) {
  Lines lines;
  add_line(lines, "run", records, [](const RunRecord& record) { return record.path; });
  add_line(lines, "state", records, [](const RunRecord& record) { return std::string(base::name_of(record.state)); });
  add_line(lines, "epochs", records, epochs_text);
  for (const auto& metric : metrics_of(records)) {
    add_line(lines, "last " + metric, records,
             [&](const RunRecord& record) { return figure_text(runs::figure_of(record.last, metric)); });
  }
  for (const auto& metric : metrics_of(records)) {
    add_line(lines, "best " + metric, records,
             [&](const RunRecord& record) { return figure_text(runs::figure_of(record.best, metric)); });
  }
  add_line(lines, "trained", records, [](const RunRecord& record) { return duration_text(record.duration_s); });
  for (const FieldDifference& field : fields) {
    std::vector<std::string> line{field.path};
    for (const auto& value : field.yaml) line.push_back(base::printable_line(value));
    lines.push_back(std::move(line));
  }
  return base::aligned(lines) + (fields.empty() ? "no field of the configurations differs\n" : "");
}

// By `esper set`: the run's configuration does not have them.
using RunChanges = base::Expected<history::SettingChanges>;

RunChanges changes_of(const RunRecord& record) {
  try {
    storage::ConfinedFileSystem files(record.path, storage::Owner::kAnyone);
    return history::accepted_changes(files, record.path);
  } catch (const base::Error& error) {
    return base::failure(error.what());
  }
}

std::string change_notes(const RunRecord& record, const RunChanges& changes) {
  const std::string run = base::printable_line(record.path);
  if (!changes) {
    return fmt::format("note: the settings that were changed while {} trained are left out: {}\n", run,
                       base::printable_line(changes.error()));
  }
  std::string notes;
  for (const auto& change : *changes) {
    notes += fmt::format("note: {} was changed while it trained: {}={} from epoch {} on\n", run, change.field,
                         base::printable_line(change.value), change.epoch);
  }
  return notes;
}

// A null for each run whose changes cannot be read, and why.
void add_changes(ordered_json& comparison, const std::vector<RunChanges>& changes) {
  ordered_json lists = ordered_json::array(), problems = ordered_json::array();
  for (const RunChanges& one : changes) {
    lists.push_back(one ? ordered_json(history::setting_changes_json(*one)) : ordered_json());
    if (!one) problems.push_back(one.error());
  }
  comparison["changes"] = std::move(lists);
  comparison["problems"] = std::move(problems);
}

int compare_runs(const RunsCompareOptions& options) {
  if (options.runs.size() < 2) throw base::Error(base::ExitCode::kConfig, "name at least two runs to compare");
  std::vector<RunRecord> records;
  std::vector<config::RunConfig> configs;
  std::vector<RunChanges> changes;
  for (const auto& run : options.runs) {
    const std::string folder = run_folder_named(run);
    configs.push_back(load_config_of_run(folder));
    records.push_back(runs::read_run_record(folder));
    changes.push_back(changes_of(records.back()));
  }
  const auto fields = config::differing_fields(std::move(configs));
  if (!options.json) {
    std::string text = comparison_table(records, fields);
    for (std::size_t i = 0; i < records.size(); ++i) text += change_notes(records[i], changes[i]);
    print(text);
    return 0;
  }
  ordered_json list = ordered_json::array();
  for (const FieldDifference& field : fields) list.push_back({{"path", field.path}, {"values", field.json}});
  ordered_json comparison = {{"runs", records_json(records)}, {"fields", std::move(list)}};
  add_changes(comparison, changes);
  print_json(comparison);
  return 0;
}

}  // namespace

void add_runs_compare(CLI::App& runs, Front& front) {
  CLI::App* command = add_command(runs, "compare", "Print the figures of runs side by side, and the fields that differ",
                                  "esper runs compare runs/digits-20260301-120000 runs/digits-20260301-130000");
  const auto options = std::make_shared<RunsCompareOptions>();
  command->add_option("run", options->runs, "Run folders, or their names in the default folder; at least two")
      ->required()
      ->type_name("RUN")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_json_flag(*command, options->json);
  command->callback([&front, options] { front.run = [options] { return compare_runs(*options); }; });
}

}  // namespace esper
