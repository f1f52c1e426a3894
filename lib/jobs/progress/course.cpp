#include "jobs/progress/course.h"

#include <algorithm>
#include <set>

#include "base/text/json_fields.h"
#include "base/text/printable.h"
#include "history/telemetry/epoch_packet.h"
#include "history/telemetry/thin_line.h"
#include "leyline/seed.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::jobs {
namespace {

using base::member;
using base::number_at;
using base::text_at;
using nlohmann::json;
using namespace leyline::literals;

constexpr std::string_view kTrainingLoss = "tolaria.training.loss"_metric.name();
constexpr std::string_view kEpochs = "tolaria.epochs.total"_metric.name();
constexpr std::string_view kStage = "kasmina.seed.stage"_metric.name();
constexpr std::string_view kAlpha = "kasmina.seed.alpha"_metric.name();
constexpr std::size_t kMostThinBytes = 256 << 10;  // of a packet with the metrics below alone
constexpr std::size_t kMostTextCharacters = 100;

bool is_shown(std::string_view metric) {
  return metric == kTrainingLoss || metric == kEpochs || metric == kStage || metric == kAlpha ||
         !history::validation_figure(metric).empty();
}

std::string shown_text(const json& object, const std::string& name) {
  return base::shortened(base::printable_line(text_at(object, name)), kMostTextCharacters);
}

// The packet with what is shown of it; null for any other line.
json packet_in(std::string_view line) {
  if (line.find(kEpochs) == std::string_view::npos && line.find(kStage) == std::string_view::npos) return {};
  std::string thin;
  if (!history::thin_line(line, is_shown, thin)) return {};
  auto packet = base::parse_json(thin, kMostThinBytes);
  return packet ? *std::move(packet) : json();
}

SeedProgress seed_of(const json& metric) {
  const json& labels = member(metric, "attributes");
  const auto stage = base::from_name<leyline::Stage>(text_at(labels, "stage"));
  return {.seed_id = shown_text(labels, "seed_id"),
          .slot = shown_text(labels, "slot"),
          .blueprint = shown_text(labels, "blueprint"),
          .stage = std::string(base::name_of(stage.value_or(leyline::Stage::kUnknown)))};
}

}  // namespace

void Course::take(std::string_view line) {
  const json packet = packet_in(line);
  const auto number = history::epoch_of(packet);
  const json& metrics = member(packet, "metrics");
  if (!number || !metrics.is_array()) return;
  Epoch epoch{.number = *number};
  SeedProgress seed;
  bool is_epoch = false;
  for (const json& metric : metrics) {
    const std::string name = text_at(metric, "name");
    const auto value = number_at(metric, "value");
    if (name == kEpochs) is_epoch = true;
    if (name == kTrainingLoss) epoch.training_loss = value;
    const auto figure = history::validation_figure(name);
    if (!figure.empty() && value) epoch.validation[std::string(figure)] = *value;
    if (name == kStage) seed = seed_of(metric);
    if (name == kAlpha) seed.alpha = value;
  }
  if (is_epoch) {
    updated_ = shown_text(packet, "timestamp");
    add_epoch(std::move(epoch));
  } else if (!seed.seed_id.empty()) {
    add_seed(*number, std::move(seed));
  }
}

void Course::add_epoch(Epoch epoch) {
  while (!epochs_.empty() && epochs_.back().number >= epoch.number) epochs_.pop_back();
  // Its own seeds follow it; until they do, those of the epoch before it stand for them.
  std::erase_if(seeds_, [&](const auto& entry) { return entry.second.epoch != epoch.number - 1; });
  epoch.revision = ++revision_;
  epochs_.push_back(std::move(epoch));
  if (epochs_.size() > kMostEpochsShown) epochs_.pop_front();
}

void Course::add_seed(std::int64_t epoch, SeedProgress seed) {
  if (seeds_.size() >= kMostSeedsShown && !seeds_.contains(seed.seed_id)) return;
  ++revision_;
  const std::string id = seed.seed_id;
  seeds_[id] = {epoch, std::move(seed)};
}

Progress Course::since(std::uint64_t revision) const {
  Progress progress{.epochs = epochs_.empty() ? 0 : epochs_.back().number, .updated = updated_};
  std::set<std::string> figures;
  for (const Epoch& epoch : epochs_)
    for (const auto& [name, value] : epoch.validation) figures.insert(name);
  for (const Epoch& epoch : epochs_) {
    if (epoch.revision <= revision) continue;
    progress.epoch.push_back(epoch.number);
    progress.training_loss.push_back(epoch.training_loss);
    for (const auto& name : figures) {
      const auto value = epoch.validation.find(name);
      progress.validation[name].push_back(value == epoch.validation.end() ? std::nullopt
                                                                          : std::optional(value->second));
    }
  }
  const bool has_newest =
      std::ranges::any_of(seeds_, [&](const auto& entry) { return entry.second.epoch == progress.epochs; });
  for (const auto& [id, seed] : seeds_)
    if (!has_newest || seed.epoch == progress.epochs) progress.seeds.push_back(seed.progress);
  return progress;
}

}  // namespace esper::jobs
