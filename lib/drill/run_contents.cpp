#include "drill/run_contents.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text/json_fields.h"
#include "base/text/json_struct.h"
#include "drill/training_plan.h"
#include "history/telemetry/jsonl_reader.h"
#include "storage/file_tools.h"
#include "storage/real_file_system.h"

namespace esper::drill {
namespace {

using base::Error;
using base::ExitCode;
using nlohmann::json;

constexpr std::uint64_t kMostSummaryBytes = 64u << 20;
// What a metric's name begins or ends with that depends on the process: on its speed, on what it had done before.
constexpr std::array kOfProcess = std::to_array<std::string_view>({"kasmina.command_verifier.",
                                                                   "kasmina.nonce_ledger.",
                                                                   "nissa.",
                                                                   "tamiyo.breaker",
                                                                   "tamiyo.gnn.compile",
                                                                   "tamiyo.late_",
                                                                   "tamiyo.process.",
                                                                   "tolaria.checkpoint.",
                                                                   "tolaria.compile",
                                                                   "tolaria.device.",
                                                                   "tolaria.emergency.",
                                                                   "tolaria.graph.",
                                                                   "tolaria.growth.",
                                                                   "tolaria.journal.",
                                                                   "tolaria.ledger.",
                                                                   "tolaria.loader.",
                                                                   "tolaria.memory.",
                                                                   "tolaria.opt.",
                                                                   "tolaria.rollback.",
                                                                   "tolaria.step.",
                                                                   "tolaria.timeout.",
                                                                   "tolaria.train.",
                                                                   "tolaria.validation.lane_batches_total"});
constexpr std::array kTimes = std::to_array<std::string_view>({"_ms", "_us", "_per_s"});
constexpr std::string_view kEpochPacket = "tolaria.training.loss";  // only packets of epochs have it
// Events that follow from the training alone.
constexpr std::array kEvents = std::to_array<std::string_view>(
    {"command_rejected", "gate_event", "gate_failure", "seed_folded", "seed_grafted", "seed_health", "seed_removed",
     "seed_stage", "tamiyo.decision", "tolaria.control_confounded", "tolaria.early_stop", "tolaria.loss_suspect",
     "tolaria.seed_settled"});
constexpr std::array kOutcome{"epochs", "steps", "parameters", "train", "validation", "best", "seeds"};

// 0: it does not say.
std::uint32_t epoch_of(const json& attributes) {
  return base::parse_number<std::uint32_t>(attributes.value("epoch", "")).value_or(0);
}

// Of a packet about an epoch; 0: of another one.
std::uint32_t epoch_reported_by(const json& packet) {
  std::uint32_t number = 0;
  bool is_epoch = false;
  for (const json& metric : packet.value("metrics", json::array())) {
    const std::string name = metric.value("name", "");
    if (name == kEpochPacket) is_epoch = true;
    if (name == "tolaria.epochs.total") number = base::number_at<std::uint32_t>(metric, "value").value_or(number);
  }
  return is_epoch ? number : 0;
}

bool is_of_process(std::string_view name) {
  return std::ranges::any_of(kOfProcess, [&](std::string_view begin) { return name.starts_with(begin); }) ||
         std::ranges::any_of(kTimes, [&](std::string_view end) { return name.ends_with(end); });
}

void take_figures(RunContents& contents, const json& packet, std::uint32_t number) {
  std::vector<std::string> figures;
  for (const json& metric : packet.at("metrics")) {
    if (!is_of_process(metric.value("name", ""))) figures.push_back(metric.dump());
  }
  EpochReports& epoch = contents.epochs[number];
  const std::string difference = epoch.figures.empty() ? "" : first_difference(epoch.figures, figures);
  if (!difference.empty()) contents.contradictions.push_back(fmt::format("epoch {}: {}", number, difference));
  epoch.figures = std::move(figures);
}

// A process that trains an epoch again reports it again. reported_with: the epoch of its packet.
void take_event(RunContents& contents, const json& event, std::uint32_t reported_with) {
  const std::string name = event.value("description", "");
  if (std::ranges::find(kEvents, name) == kEvents.end()) return;
  const json attributes = event.value("attributes", json::object());
  const std::uint32_t own = epoch_of(attributes), epoch = own > 0 ? own : reported_with;
  if (epoch == 0) return;
  auto& events = contents.epochs[epoch].events;
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

std::string first_difference(const std::vector<std::string>& reference, const std::vector<std::string>& other) {
  const auto [ours, theirs] = std::ranges::mismatch(reference, other);
  const auto text = [](const auto& lines, auto line) { return line == lines.end() ? "nothing" : *line; };
  if (ours == reference.end() && theirs == other.end()) return {};
  return fmt::format("{}, not {}", text(other, theirs), text(reference, ours));
}

RunContents read_contents(const std::string& run) {
  auto& files = storage::real_file_system();
  const auto checkpoints = checkpoints_in(run);
  if (checkpoints.empty()) throw Error(ExitCode::kCheckpoint, run + " has no checkpoint");
  RunContents contents;
  contents.checkpoint = checkpoints.back().name();
  contents.tensors = checkpoints.back().path + "/state.safetensors";
  const json state = history::read_run_json(files, checkpoints.back().path);
  if (!state.is_object()) throw Error(ExitCode::kCheckpoint, checkpoints.back().path + "/run.json is not JSON");
  contents.cursor = state.value("progress", json::object());
  contents.cursor.erase("wall_s");
  if (const auto control = contents.cursor.find("control"); control != contents.cursor.end()) {
    control->erase("took_ms");
  }
  contents.topology = state.value("topology", json());
  contents.controller = state.value("controller", json());
  contents.outcome = read_summary(run);
  history::read_jsonl(run + "/telemetry.jsonl", [&](const json& packet) {
    const std::uint32_t epoch = epoch_reported_by(packet);
    if (epoch > 0) take_figures(contents, packet, epoch);
    for (const auto& event : packet.value("events", json::array())) take_event(contents, event, epoch);
  });
  return contents;
}

}  // namespace esper::drill
