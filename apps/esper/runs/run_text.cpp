#include "esper/runs/run_text.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/text/aligned.h"
#include "base/text/printable.h"
#include "runs/config_text.h"
#include "runs/moment.h"

namespace esper {
namespace {

using nlohmann::ordered_json;
using runs::RunRecord;

std::string or_dash(const std::string& text) { return text.empty() ? "-" : base::printable_line(text); }

std::string time_text(std::optional<std::int64_t> ms) { return ms ? runs::moment_text(*ms) : "-"; }

std::string validation_text(const runs::Validation& validation) {
  if (validation.figures.empty()) return "-";
  std::string text = validation.epoch ? fmt::format("epoch {}", *validation.epoch) : "";
  for (const auto& [name, figure] : validation.figures) {
    text += (text.empty() ? "" : ", ") + base::printable_line(name) + " " + figure_text(figure);
  }
  return text;
}

std::string goal_text(const std::string& metric, runs::Goal goal) {
  return metric.empty() ? "-" : metric + (goal == runs::Goal::kMaximize ? ", more is better" : ", less is better");
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array kUnits{"B", "kB", "MB", "GB", "TB"};
  auto number = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; number >= 999.5 && unit + 1 < kUnits.size(); ++unit) number /= 1000;
  return unit == 0 || number >= 9.95 ? fmt::format("{:.0f} {}", number, kUnits[unit])
                                     : fmt::format("{:.1f} {}", number, kUnits[unit]);
}

std::string duration_text(std::optional<double> seconds) {
  if (!seconds) return "-";
  if (*seconds < 59.95) return fmt::format("{:.1f} s", *seconds);
  const auto whole = static_cast<std::int64_t>(*seconds + 0.5);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string figure_text(std::optional<double> figure) {
  constexpr double kLarge = 1e6;  // as the loss of a run that diverged
  if (!figure) return "-";
  return std::abs(*figure) < kLarge ? fmt::format("{:.4f}", *figure) : fmt::format("{:.4g}", *figure);
}

std::string epochs_text(const RunRecord& record) {
  return fmt::format("{}/{}", record.epochs, record.planned_epochs ? std::to_string(*record.planned_epochs) : "-");
}

std::string run_table(const std::vector<RunRecord>& records) {
  std::vector<std::vector<std::string>> lines{
      {"run", "state", "data", "host", "epochs", "metric", "last", "best", "started (UTC)", "trained", "size"}};
  for (const RunRecord& record : records) {
    lines.push_back({base::printable_line(record.path), std::string(base::name_of(record.state)),
                     or_dash(record.dataset), or_dash(record.host), epochs_text(record), or_dash(record.metric),
                     figure_text(runs::figure_of(record.last, record.metric)),
                     figure_text(runs::figure_of(record.best, record.metric)), time_text(record.started_ms),
                     duration_text(record.duration_s), bytes_text(record.bytes)});
  }
  return base::aligned(lines);
}

std::string run_page(const RunRecord& record) {
  const auto seed = record.seed ? std::to_string(*record.seed) : "-";
  return base::aligned({{"run", base::printable_line(record.path)},
                        {"state", std::string(base::name_of(record.state))},
                        {"reason", or_dash(record.reason)},
                        {"name", or_dash(record.config_name)},
                        {"task", or_dash(record.task)},
                        {"data", or_dash(record.dataset)},
                        {"host", or_dash(record.host)},
                        {"seed", seed},
                        {"epochs", epochs_text(record)},
                        {"metric", goal_text(record.metric, record.goal)},
                        {"last", validation_text(record.last)},
                        {"best", validation_text(record.best)},
                        {"best by", goal_text(record.best_metric, record.best_goal)},
                        {"started", time_text(record.started_ms)},
                        {"ended", time_text(record.ended_ms)},
                        {"trained", duration_text(record.duration_s)},
                        {"parent", or_dash(record.parent)},
                        {"checkpoints", std::to_string(record.checkpoints)},
                        {"size", bytes_text(record.bytes)},
                        {"config hash", or_dash(runs::config_hash_of(record.path))},
                        {"version", or_dash(record.version)}});
}

ordered_json record_json(const RunRecord& record) {
  ordered_json json(base::to_json(record));
  json["config_hash"] = runs::config_hash_of(record.path);
  return json;
}

ordered_json records_json(const std::vector<RunRecord>& records) {
  ordered_json list = ordered_json::array();
  for (const RunRecord& record : records) list.push_back(record_json(record));
  return list;
}

}  // namespace esper
