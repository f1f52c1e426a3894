// `esper runs history`
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/aligned.h"
#include "base/text/printable.h"
#include "base/text/text_outlet.h"
#include "esper/run_options.h"
#include "esper/runs/run_text.h"
#include "esper/runs/runs.h"
#include "history/telemetry/epoch_history.h"
#include "runs/read_run_record.h"

namespace esper {
namespace {

using history::EpochColumn;
using history::EpochFigures;
using history::EpochHistory;
using nlohmann::ordered_json;

struct RunsHistoryOptions {
  std::string run;
  bool csv = false, json = false;
};

// Those that any epoch has.
std::vector<std::size_t> reported_columns(const EpochHistory& history) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < history::kNumEpochColumns; ++i) {
    if (history.has(i)) columns.push_back(i);
  }
  return columns;
}

// Of the validation metrics the loss, and those that the run is judged by; all of them where these are not known.
std::vector<std::size_t> table_columns(const EpochHistory& history, const runs::RunRecord& record) {
  constexpr std::string_view kValidation = "validation_";
  auto columns = reported_columns(history);
  if (record.metric.empty()) return columns;
  std::erase_if(columns, [&](std::size_t column) {
    const auto name = history::epoch_columns()[column].name;
    const auto metric = name.substr(name.starts_with(kValidation) ? kValidation.size() : name.size());
    return !metric.empty() && metric != "loss" && metric != record.metric && metric != record.best_metric;
  });
  return columns;
}

std::int64_t count_of(double value) { return static_cast<std::int64_t>(value); }

std::string cell_text(EpochColumn::Kind kind, std::optional<double> value) {
  using ColumnKind = EpochColumn::Kind;
  if (!value) return "-";
  switch (kind) {
    case ColumnKind::kCount:
      return std::to_string(count_of(*value));
    case ColumnKind::kRate:
      return fmt::format("{:.3g}", *value);
    case ColumnKind::kSeconds:
      return fmt::format("{:.2f}", *value);
    case ColumnKind::kFigure:
      break;
  }
  return figure_text(value);
}

std::string csv_cell(EpochColumn::Kind kind, std::optional<double> value) {
  if (!value) return "";
  return kind == EpochColumn::Kind::kCount ? std::to_string(count_of(*value)) : fmt::format("{}", *value);
}

std::string heading_of(std::size_t column) {
  std::string heading(history::epoch_columns()[column].name);
  std::ranges::replace(heading, '_', ' ');
  return heading;
}

std::string history_table(const EpochHistory& history, const std::vector<std::size_t>& columns) {
  if (history.epochs.empty()) return "no epochs\n";
  std::vector<std::vector<std::string>> lines{{"epoch"}};
  for (const std::size_t column : columns) lines.back().push_back(heading_of(column));
  for (const EpochFigures& figures : history.epochs) {
    lines.push_back({std::to_string(figures.epoch)});
    for (const std::size_t column : columns) {
      lines.back().push_back(cell_text(history::epoch_columns()[column].kind, figures.values[column]));
    }
  }
  return base::aligned(lines);
}

std::string history_csv(const EpochHistory& history, const std::vector<std::size_t>& columns) {
  std::string text = "epoch";
  for (const std::size_t column : columns) text.append(",").append(history::epoch_columns()[column].name);
  text += "\n";
  for (const EpochFigures& figures : history.epochs) {
    text += std::to_string(figures.epoch);
    for (const std::size_t column : columns) {
      text.append(",").append(csv_cell(history::epoch_columns()[column].kind, figures.values[column]));
    }
    text += "\n";
  }
  return text;
}

ordered_json figure_json(EpochColumn::Kind kind, std::optional<double> value) {
  if (!value) return nullptr;
  return kind == EpochColumn::Kind::kCount ? ordered_json(count_of(*value)) : ordered_json(*value);
}

ordered_json history_json(const std::string& run, const EpochHistory& history,
                          const std::vector<std::size_t>& columns) {
  ordered_json epochs = ordered_json::array();
  for (const EpochFigures& figures : history.epochs) {
    ordered_json epoch{{"epoch", figures.epoch}};
    for (const std::size_t column : columns) {
      const EpochColumn& known = history::epoch_columns()[column];
      epoch[std::string(known.name)] = figure_json(known.kind, figures.values[column]);
    }
    epochs.push_back(std::move(epoch));
  }
  return {{"run_dir", run},
          {"epochs", std::move(epochs)},
          {"damaged_lines", history.damaged_lines},
          {"gaps", history.gaps}};
}

int print_history(const RunsHistoryOptions& options) {
  const std::string folder = run_folder_named(options.run);
  const EpochHistory history = history::read_epoch_history(folder);
  if (options.json) {
    print_json(history_json(folder, history, reported_columns(history)));
  } else if (options.csv) {
    print(history_csv(history, reported_columns(history)));
    for (const auto& gap : history.gaps) base::standard_error().write(base::printable_line("note: " + gap) + "\n");
  } else {
    print(history_table(history, table_columns(history, runs::read_run_record(folder))));
    for (const auto& gap : history.gaps) print_line("note: " + gap);
  }
  return 0;
}

}  // namespace

void add_runs_history(CLI::App& runs, Front& front) {
  CLI::App* command = add_command(runs, "history", "Print the figures of each epoch of a run",
                                  "esper runs history runs/digits-20260301-120000\n"
                                  "         esper runs history runs/digits-20260301-120000 --csv > digits.csv");
  const auto options = std::make_shared<RunsHistoryOptions>();
  command->add_option("run", options->run, "Run folder, or its name in the default folder")
      ->required()
      ->type_name("RUN");
  auto* csv = command->add_flag("--csv", options->csv,
                                "Print a CSV table, with all validation metrics; notes go to standard error");
  add_json_flag(*command, options->json);
  command->get_option("--json")->excludes(csv);
  command->callback([&front, options] { front.run = [options] { return print_history(*options); }; });
}

}  // namespace esper
