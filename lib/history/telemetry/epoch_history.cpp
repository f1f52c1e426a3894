#include "history/telemetry/epoch_history.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text/json_fields.h"
#include "history/telemetry/epoch_packet.h"
#include "history/telemetry/jsonl_reader.h"
#include "leyline/telemetry/telemetry.h"
#include "nissa/telemetry_files.h"

namespace esper::history {
namespace {

using base::member;
using base::text_at;
using nlohmann::json;
using namespace leyline::literals;
using ColumnKind = EpochColumn::Kind;

constexpr std::array<EpochColumn, kNumEpochColumns> kEpochColumns{
    {{"steps", "tolaria.training.steps_total"_metric.name(), ColumnKind::kCount},
     {"training_loss", "tolaria.training.loss"_metric.name(), ColumnKind::kFigure},
     {"training_accuracy", "tolaria.training.accuracy"_metric.name(), ColumnKind::kFigure},
     {"validation_loss", "tolaria.validation.loss"_metric.name(), ColumnKind::kFigure},
     {"validation_accuracy", "tolaria.validation.accuracy"_metric.name(), ColumnKind::kFigure},
     {"validation_top5", "tolaria.validation.top5"_metric.name(), ColumnKind::kFigure},
     {"validation_precision", "tolaria.validation.precision"_metric.name(), ColumnKind::kFigure},
     {"validation_recall", "tolaria.validation.recall"_metric.name(), ColumnKind::kFigure},
     {"validation_f1", "tolaria.validation.f1"_metric.name(), ColumnKind::kFigure},
     {"validation_mae", "tolaria.validation.mae"_metric.name(), ColumnKind::kFigure},
     {"validation_r2", "tolaria.validation.r2"_metric.name(), ColumnKind::kFigure},
     {"validation_perplexity", "tolaria.validation.perplexity"_metric.name(), ColumnKind::kFigure},
     {"learning_rate", "tolaria.lr_controller.current_lr"_metric.name(), ColumnKind::kRate},
     {"seconds", "tolaria.training.latency_ms"_metric.name(), ColumnKind::kSeconds},
     {"active_seeds", "tolaria.seeds.active"_metric.name(), ColumnKind::kCount},
     {"parameters", "tolaria.training.params"_metric.name(), ColumnKind::kCount}}};
constexpr std::string_view kEndOfEpoch = "tolaria.epochs.total"_metric.name();
constexpr std::int64_t kLargestCount = std::int64_t{1} << 53;  // up to which a double holds each
constexpr std::size_t kMostEpochsListed = 100'000;

bool is_history_metric(std::string_view metric) {
  return metric == kEndOfEpoch || std::ranges::find(kEpochColumns, metric, &EpochColumn::metric) != kEpochColumns.end();
}

std::optional<double> value_for(ColumnKind kind, const json& metric) {
  if (kind == ColumnKind::kSeconds) {
    const auto ms = base::known_time_at(metric, "value", std::chrono::milliseconds(1));
    return ms ? std::optional(*ms / 1000) : std::nullopt;
  }
  if (kind != ColumnKind::kCount) return base::number_at(metric, "value");
  const auto count = base::number_at<std::int64_t>(metric, "value");
  const bool is_exact = count && *count >= 0 && *count <= kLargestCount;
  return is_exact ? std::optional(static_cast<double>(*count)) : std::nullopt;
}

class EpochReader {
 public:
  void take(const json& packet) {
    for (const json& event : member(packet, "events")) {
      if (text_at(event, "description") == "tolaria.resumed"_event.name()) go_back(member(event, "attributes"));
    }
    const auto epoch = epoch_of(packet);
    if (!epoch || *epoch == 0) return;
    EpochFigures figures{*epoch, {}};
    bool has_ended = false;
    for (const json& metric : member(packet, "metrics")) {
      const std::string name = text_at(metric, "name");
      has_ended |= name == kEndOfEpoch;
      const auto column = std::ranges::find(kEpochColumns, name, &EpochColumn::metric);
      if (column == kEpochColumns.end()) continue;
      figures.values[static_cast<std::size_t>(column - kEpochColumns.begin())] = value_for(column->kind, metric);
    }
    if (has_ended) put(figures);
  }

  std::map<std::uint32_t, EpochFigures> found;
  bool left_out = false;

 private:
  void put(const EpochFigures& figures) {
    if (found.size() >= kMostEpochsListed && !found.contains(figures.epoch)) {
      left_out = true;
    } else {
      found[figures.epoch] = figures;
    }
  }

  void go_back(const json& attributes) {
    const auto epoch = base::parse_number<std::uint32_t>(text_at(attributes, "epoch"));
    if (epoch) found.erase(found.upper_bound(*epoch), found.end());
  }
};

}  // namespace

const std::array<EpochColumn, kNumEpochColumns>& epoch_columns() { return kEpochColumns; }

bool EpochHistory::has(std::size_t column) const {
  return std::ranges::any_of(epochs, [&](const EpochFigures& figures) { return figures.values[column].has_value(); });
}

EpochHistory read_epoch_history(const std::filesystem::path& run) {
  const auto path = run / "telemetry.jsonl";
  if (!nissa::has_telemetry(path)) {
    throw base::Error(base::ExitCode::kData, run.string() + " has no telemetry.jsonl, which holds the figures of its " +
                                                 "epochs; it is written if telemetry.jsonl is true");
  }
  EpochReader reader;
  const auto report = read_jsonl(path, [&](const json& packet) { reader.take(packet); }, is_history_metric);
  EpochHistory history;
  history.epochs.reserve(reader.found.size());
  for (const auto& [epoch, figures] : reader.found) history.epochs.push_back(figures);
  history.damaged_lines = report.damaged_total;
  history.gaps = gaps_of(report);
  if (reader.left_out) {
    history.gaps.push_back(
        fmt::format("telemetry.jsonl covers more than {} epochs; the rest was ignored", kMostEpochsListed));
  }
  return history;
}

}  // namespace esper::history
