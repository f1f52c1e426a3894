#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/names.h"
#include "base/text/printable.h"
#include "config/step_config.h"
#include "history/black_box/black_box.h"

namespace esper::history {
namespace {

using nlohmann::ordered_json;

std::string time_of(const BlackBoxRecord& record) { return base::rfc3339(base::Duration(record.wall_ns)); }

std::string lane_of(const BlackBoxStep& step) {
  const auto name = base::name_of(static_cast<config::Lane>(step.lane));
  return name.empty() ? "?" : std::string(name);
}

std::string batches_of(const BlackBoxStep& step) {
  const auto last = step.first_batch + step.microbatches - 1;
  return step.microbatches <= 1 ? fmt::format("{}", step.first_batch) : fmt::format("{}-{}", step.first_batch, last);
}

std::string figure(const BlackBoxRecord& record, double value) {
  return record.has(kHasFigures) ? fmt::format("{:.6g}", value) : "-";
}

std::string row_of(const BlackBoxRecord& record) {
  const std::string place = fmt::format("{:<27} {:>8} {:>6}", time_of(record), record.step, record.epoch);
  if (record.kind == BlackBoxKind::kEvent) return fmt::format("{}  {}\n", place, base::printable_line(record.text()));
  const BlackBoxStep& step = record.of_step;
  if (record.has(kPassedOver)) return fmt::format("{} {:>9}  passed over\n", place, batches_of(step));
  const bool is_step = record.kind == BlackBoxKind::kStep;
  return fmt::format("{} {:>9} {:>11} {:>11} {:>11.5g} {:>9.3f} {:<8} {}\n", place, is_step ? batches_of(step) : "end",
                     figure(record, step.loss), figure(record, step.gradient_norm), step.learning_rate,
                     static_cast<double>(step.duration_ns) / 1e6, lane_of(step),
                     record.has(kHasRng) ? fmt::format("{:016x}", step.rng) : "");
}

ordered_json number_json(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

ordered_json step_json(const BlackBoxRecord& record) {
  const BlackBoxStep& step = record.of_step;
  ordered_json json = {{"first_batch", step.first_batch}, {"microbatches", step.microbatches}};
  if (record.kind == BlackBoxKind::kEpochEnd) json = ordered_json::object();
  const bool known = record.has(kHasFigures);
  json.update({{"passed_over", record.has(kPassedOver)},
               {"samples", step.samples},
               {"loss", known ? number_json(step.loss) : nullptr},
               {"gradient_norm", known ? number_json(step.gradient_norm) : nullptr},
               {"learning_rate", number_json(step.learning_rate)},
               {"lane", lane_of(step)},
               {"bits", fmt::format("{:016x}", step.bits)},
               {"took_ms", static_cast<double>(step.duration_ns) / 1e6},
               {"rng", nullptr}});
  if (record.has(kHasRng)) json["rng"] = fmt::format("{:016x}", step.rng);
  return json;
}

std::string kind_name(BlackBoxKind kind) {
  if (kind == BlackBoxKind::kEvent) return "event";
  return kind == BlackBoxKind::kStep ? "step" : "epoch_end";
}

ordered_json record_json(const BlackBoxRecord& record) {
  ordered_json json = {{"number", record.number}, {"kind", kind_name(record.kind)}, {"time", time_of(record)},
                       {"step", record.step},     {"epoch", record.epoch},          {"process", record.process}};
  if (record.kind == BlackBoxKind::kEvent) {
    json["text"] = base::printable_line(record.text());
  } else {
    json.update(step_json(record));
  }
  return json;
}

}  // namespace

std::string black_box_text(const BlackBox& box) {
  std::string text = fmt::format("{:<27} {:>8} {:>6} {:>9} {:>11} {:>11} {:>11} {:>9} {:<8} {}\n", "time", "step",
                                 "epoch", "batches", "loss", "norm", "rate", "ms", "lane", "rng");
  for (const auto& record : box.records) text += row_of(record);
  if (box.records.empty()) text += "no step was recorded yet\n";
  if (box.torn > 0) text += fmt::format("{} records were being written, or are damaged\n", box.torn);
  return text;
}

ordered_json black_box_json(const std::string& run, const BlackBox& box) {
  ordered_json records = ordered_json::array();
  for (const auto& record : box.records) records.push_back(record_json(record));
  return {{"run_dir", run}, {"records", std::move(records)}, {"torn", box.torn}};
}

}  // namespace esper::history
