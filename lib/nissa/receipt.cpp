#include "nissa/receipt.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "leyline/error.h"
#include "leyline/names.h"
#include "nissa/seed_telemetry.h"

namespace esper::nissa {
namespace {

using leyline::GrowthNote;
using leyline::has_module;
using leyline::RunPlace;
using leyline::Stage;

// Epochs on either side of a graft that step times are taken from.
constexpr std::uint32_t kEpochsCompared = 5;

bool is_about(const GrowthNote& note, const std::string& seed_id) {
  return note.event && note.event->seed_id == seed_id;
}

bool is_birth(const GrowthNote& note) {
  return note.what == "stage" && has_module(note.event->to) && !has_module(note.event->from);
}
bool is_cull(const GrowthNote& note) {
  return note.what == "stage" && has_module(note.event->from) && !has_module(note.event->to);
}

std::optional<double> value_at(const std::map<std::string, double>& values, const char* name) {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> at(const SeedTelemetry::ByEpoch& values, std::uint32_t epoch) {
  const auto found = values.find(epoch);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

[[noreturn]] void fail_unknown(const std::string& seed_id, const std::vector<GrowthNote>& notes) {
  std::set<std::string> ids;
  for (const auto& note : notes) {
    if (note.event && note.what == "stage" && !note.event->seed_id.empty()) ids.insert(note.event->seed_id);
  }
  std::string known;
  for (const auto& id : ids) known += (known.empty() ? "" : ", ") + id;
  throw leyline::Error(leyline::ExitCode::kConfig,
                       "the journal knows no seed \"" + seed_id + "\"; " +
                           (known.empty() ? "nothing grew in this run" : "it knows: " + known));
}

void take_graft(Receipt& receipt, const GrowthNote& note) {
  receipt.parameters = value_at(note.event->values, "params");
  receipt.graft_stall_ms = note.event->took_ms;
  if (note.event->memory_bytes) receipt.memory_bytes = static_cast<double>(*note.event->memory_bytes);
}

// Where the stage was entered, for each that is not left yet.
void take_stage(Receipt& receipt, const GrowthNote& note, RunPlace& entered) {
  const auto& event = *note.event;
  if (event.from == event.to) return;  // begins to blend out
  if (!is_birth(note)) receipt.stages.back().epochs = note.place.epoch - entered.epoch;
  entered = note.place;
  receipt.reason = event.reason;
  if (is_birth(note)) {
    receipt.born = note.place;
    receipt.slot = event.slot;
    receipt.blueprint = event.blueprint;
  }
  if (is_cull(note)) {
    receipt.outcome = Receipt::Outcome::kCulled;
  } else {
    receipt.stages.push_back({event.to, 0});
    if (event.to == Stage::kFossilized) receipt.outcome = Receipt::Outcome::kFossilized;
  }
  if (receipt.outcome != Receipt::Outcome::kGrowing) receipt.ended = note.place;
}

void take_story(Receipt& receipt, const std::vector<GrowthNote>& notes) {
  RunPlace entered;
  for (const auto& note : notes) {
    if (!is_about(note, receipt.seed_id)) continue;
    const bool unborn = receipt.stages.empty();
    if (note.what == "stage" && (!unborn || is_birth(note))) take_stage(receipt, note, entered);
    if (note.what == "graft") take_graft(receipt, note);
    if (note.what == "cull") receipt.cull_stall_ms = note.event->took_ms;
    receipt.story.push_back(note);
  }
  if (receipt.stages.empty()) fail_unknown(receipt.seed_id, notes);
  if (receipt.outcome != Receipt::Outcome::kCulled) {
    receipt.stages.back().epochs = std::max(notes.back().place.epoch, entered.epoch) - entered.epoch;
  }
}

// Epochs that ended with the network between two changes of structure: (first, last].
struct Window {
  std::uint32_t after = 0, until = 0;
};

std::optional<double> median_step_ms(const SeedTelemetry& telemetry, Window window, std::size_t& epochs) {
  std::vector<double> times;
  for (auto it = telemetry.step_p50_us.rbegin(); it != telemetry.step_p50_us.rend(); ++it) {
    if (it->first > window.until) continue;
    if (it->first <= window.after || times.size() == kEpochsCompared) break;
    times.push_back(it->second / 1000);
  }
  epochs = times.size();
  return times.empty() ? std::nullopt : std::optional(leyline::median(std::move(times)));
}

StepCost step_cost(const Receipt& receipt, const std::vector<GrowthNote>& notes, const SeedTelemetry& telemetry) {
  Window before{0, receipt.born.epoch}, after{receipt.born.epoch, std::numeric_limits<std::uint32_t>::max()};
  const auto change_at = [&](std::uint32_t epoch) {
    if (epoch < receipt.born.epoch) before.after = std::max(before.after, epoch);
    if (epoch > receipt.born.epoch) after.until = std::min(after.until, epoch);
  };
  bool alone = true;  // no other change between the same two epochs
  for (const auto& note : notes) {
    if (!note.event || note.what != "stage" || (!is_birth(note) && !is_cull(note))) continue;
    change_at(note.place.epoch);
    if (note.place.epoch == receipt.born.epoch && note.event->seed_id != receipt.seed_id) alone = false;
  }
  StepCost cost;
  if (!alone) return cost;
  cost.before_ms = median_step_ms(telemetry, before, cost.epochs_before);
  cost.after_ms = median_step_ms(telemetry, after, cost.epochs_after);
  return cost;
}

constexpr double kNormal95 = 1.960;  // two-sided quantile of the normal distribution

std::optional<leyline::Interval> interval_of(std::optional<double> value, std::optional<double> standard_error) {
  if (!value || !standard_error) return std::nullopt;
  return leyline::Interval{*value - kNormal95 * *standard_error, *value + kNormal95 * *standard_error};
}

// A fossil is measured no more: what is told of it later compares with the day it was admitted.
Contribution contribution_of(const Receipt& receipt, const SeedTelemetry& telemetry) {
  struct Measured {
    std::optional<double> points, stderr_points, shapley, shapley_stderr;
  };
  std::map<std::uint32_t, Measured> by_epoch;
  for (const auto& note : receipt.story) {  // the gate's figures are the same ones, where telemetry was off
    if (note.what != "gate") continue;
    const auto points = value_at(note.event->values, "contribution_points");
    if (points)
      by_epoch[note.place.epoch] = {points, value_at(note.event->values, "contribution_stderr_points"), {}, {}};
  }
  for (const auto& [epoch, points] : telemetry.contribution_points) {
    if (receipt.ended && epoch > receipt.ended->epoch) break;
    by_epoch[epoch] = {points, at(telemetry.contribution_stderr_points, epoch), at(telemetry.shapley_points, epoch),
                       at(telemetry.shapley_stderr_points, epoch)};
  }
  if (by_epoch.empty()) return {};
  const Measured& last = by_epoch.rbegin()->second;
  return {by_epoch.size(), last.points, interval_of(last.points, last.stderr_points), last.shapley,
          interval_of(last.shapley, last.shapley_stderr)};
}

std::optional<double> sum_of(const std::map<std::uint32_t, double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0, [](double sum, auto& entry) { return sum + entry.second; });
}

}  // namespace

Receipt read_receipt(const std::filesystem::path& run, const std::string& seed_id) {
  RunHistory journal = read_run_history(run.string());
  const auto& notes = journal.history.notes();
  Receipt receipt;
  receipt.seed_id = seed_id;
  receipt.gaps = std::move(journal.gaps);
  take_story(receipt, notes);
  const SeedTelemetry telemetry = read_seed_telemetry(run, seed_id, receipt.gaps);
  receipt.step = step_cost(receipt, notes, telemetry);
  receipt.contribution = contribution_of(receipt, telemetry);
  receipt.conflicts = sum_of(telemetry.conflicts);
  if (const auto sum = sum_of(telemetry.conflict_ratio)) {
    receipt.conflict_ratio = *sum / static_cast<double>(telemetry.conflict_ratio.size());
  }
  receipt.isolation_violations = sum_of(telemetry.isolation_violations);
  return receipt;
}

}  // namespace esper::nissa
