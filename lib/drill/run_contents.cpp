#include "drill/run_contents.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "base/text/json_struct.h"
#include "drill/training_plan.h"
#include "history/jsonl_reader.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::drill {
namespace {

using base::Error;
using base::ExitCode;
using nlohmann::json;

constexpr std::uint64_t kMostSummaryBytes = 64u << 20;
// Those that follow from the training alone.
constexpr std::array kFigures{"tolaria.training.loss", "tolaria.training.accuracy", "tolaria.training.gradient_norm",
                              "tolaria.validation.loss", "tolaria.validation.accuracy"};
constexpr std::array kEvents{"seed_stage", "seed_grafted", "seed_removed",   "seed_folded",
                             "gate_event", "gate_failure", "tamiyo.decision"};
constexpr std::array kOutcome{"epochs", "steps", "parameters", "train", "validation", "best", "seeds"};

std::uint32_t epoch_of(const json& attributes) {
  const std::string text = attributes.value("epoch", "");
  std::uint32_t epoch = 0;
  std::from_chars(text.data(), text.data() + text.size(), epoch);
  return epoch;
}

void take_figures(RunContents& contents, const json& packet) {
  std::map<std::string, json> values;
  for (const auto& metric : packet.at("metrics")) values[metric.value("name", "")] = metric.value("value", json());
  if (!values.contains(kFigures.front()) || !values["tolaria.epochs.total"].is_number()) return;
  json figures = json::array();
  for (const auto* name : kFigures) figures.push_back(values[name]);
  const auto number = values["tolaria.epochs.total"].get<std::uint32_t>();
  EpochReports& epoch = contents.epochs[number];
  const std::string text = figures.dump();
  if (!epoch.figures.empty() && epoch.figures != text)
    contents.contradictions.push_back(fmt::format("epoch {}: {} and {}", number, epoch.figures, text));
  epoch.figures = text;
}

// A process that trains an epoch again reports it again.
void take_event(RunContents& contents, const json& event) {
  const std::string name = event.value("description", "");
  if (std::ranges::find(kEvents, name) == kEvents.end()) return;
  const json attributes = event.value("attributes", json::object());
  auto& events = contents.epochs[epoch_of(attributes)].events;
  const std::string line = json{name, attributes}.dump();
  if (std::ranges::find(events, line) == events.end()) events.push_back(line);
}

json read_summary(const std::string& run) {
  const auto bytes = storage::read_file(storage::real_file_system(), run + "/summary.json", kMostSummaryBytes);
  const auto summary = base::parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, kMostSummaryBytes);
  if (!summary) throw Error(ExitCode::kCheckpoint, run + "/summary.json: " + summary.error());
  json outcome;
  for (const auto* key : kOutcome) outcome[key] = summary->value(key, json());
  return outcome;
}

}  // namespace

RunContents read_contents(const std::string& run) {
  auto& files = storage::real_file_system();
  const auto checkpoints = checkpoints_in(run);
  if (checkpoints.empty()) throw Error(ExitCode::kCheckpoint, run + " has no checkpoint");
  RunContents contents;
  contents.checkpoint = checkpoints.back().name();
  contents.tensors = checkpoints.back().path + "/state.safetensors";
  const json state = history::read_run_json(files, checkpoints.back().path);
  if (!state.is_object()) throw Error(ExitCode::kCheckpoint, checkpoints.back().path + "/run.json is no JSON");
  contents.cursor = state.value("progress", json::object());
  contents.cursor.erase("wall_s");
  contents.topology = state.value("topology", json());
  contents.controller = state.value("controller", json());
  contents.outcome = read_summary(run);
  history::read_jsonl(run + "/telemetry.jsonl", [&](const json& packet) {
    if (packet.contains("metrics")) take_figures(contents, packet);
    for (const auto& event : packet.value("events", json::array())) take_event(contents, event);
  });
  return contents;
}

}  // namespace esper::drill
