#include "tolaria/growth/lifecycle_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ranges>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/text/joined.h"
#include "kasmina/lifecycle_record.h"
#include "kasmina/slot/topology.h"
#include "leyline/blueprint/blueprint_table.h"
#include "leyline/command_summary.h"
#include "leyline/telemetry/telemetry.h"

namespace esper::tolaria {

using step::StructureChange;

namespace {

using kasmina::LifecycleEvent;
using leyline::event;
using leyline::Level;
using leyline::TelemetryEvent;
using namespace leyline::literals;

std::string name_of_stage(leyline::Stage stage) { return std::string(base::name_of(stage)); }

// "accuracy_without=0.91 min_contribution_points=1"
std::string text_of(const std::vector<std::pair<std::string, double>>& values) {
  return base::joined(values, " ",
                      [](const auto& value) { return fmt::format("{}={:.6g}", value.first, value.second); });
}

std::string ids_text(const std::vector<std::string>& ids) { return base::joined(ids, " "); }

TelemetryEvent stage_event(const LifecycleEvent& it, const std::string& epoch) {
  return event("seed_stage"_event, Level::kInfo,
               {{"seed_id", it.seed_id},
                {"slot", it.slot},
                {"blueprint", it.blueprint},
                {"from", name_of_stage(it.from)},
                {"to", name_of_stage(it.to)},
                {"epoch", epoch},
                {"reason", it.reason}});
}

template <class Handle>
TelemetryEvent gate_event(Handle handle, const LifecycleEvent& it, const std::string& epoch) {
  return event(handle, Level::kInfo,
               {{"gate", it.code},
                {"seed_id", it.seed_id},
                {"from", name_of_stage(it.from)},
                {"to", name_of_stage(it.to)},
                {"measured", text_of(it.values)},
                {"required", text_of(it.required)},
                {"epoch", epoch},
                {"reason", it.reason}});
}

TelemetryEvent grafted_event(const LifecycleEvent& it, const std::string& epoch, const StructureChange& change) {
  return event("seed_grafted"_event, Level::kInfo,
               {{"seed_id", it.seed_id},
                {"slot", it.slot},
                {"blueprint", it.blueprint},
                {"operation", "GERMINATE"},
                {"output_change", text_of(it.values)},
                {"moments_carried", std::to_string(change.carried.size())},
                {"moments_created", std::to_string(change.created.size())},
                {"moments_copied", ids_text(change.copied)},
                {"moments_reset", ids_text(change.reset)},
                {"moments_dropped", std::to_string(change.dropped.size())},
                {"parameters_created", ids_text(change.created)},
                {"parameters_dropped", ids_text(change.dropped)},
                {"epoch", epoch}});
}

TelemetryEvent removed_event(const LifecycleEvent& it, const std::string& epoch, const StructureChange& change) {
  return event("seed_removed"_event, Level::kInfo,
               {{"seed_id", it.seed_id},
                {"slot", it.slot},
                {"blueprint", it.blueprint},
                {"output_change", text_of(it.values)},
                {"moments_carried", std::to_string(change.carried.size())},
                {"moments_dropped", std::to_string(change.dropped.size())},
                {"parameters_dropped", ids_text(change.dropped)},
                {"epoch", epoch}});
}

TelemetryEvent fold_event(const LifecycleEvent& it, const std::string& epoch, const StructureChange& change) {
  return event("seed_folded"_event, Level::kInfo,
               {{"seed_id", it.seed_id},
                {"slot", it.slot},
                {"blueprint", it.blueprint},
                {"result", it.passed ? "folded" : "kept"},
                {"output_change", text_of(it.values)},
                {"moments_carried", std::to_string(change.carried.size())},
                {"moments_transformed", ids_text(change.transformed)},
                {"moments_reset", ids_text(change.reset)},
                {"moments_dropped", std::to_string(change.dropped.size())},
                {"parameters_dropped", ids_text(change.dropped)},
                {"epoch", epoch},
                {"reason", it.reason}});
}

TelemetryEvent telemetry_of(const LifecycleEvent& it, const std::string& epoch, const StructureChange& change) {
  switch (it.kind) {
    case LifecycleEvent::Kind::kGate:
      return it.passed ? gate_event("gate_event"_event, it, epoch) : gate_event("gate_failure"_event, it, epoch);
    case LifecycleEvent::Kind::kCommandRejected:
      return event("command_rejected"_event, Level::kWarning,
                   {{"command_id", it.command_id},
                    {"command_type", it.command_type},
                    {"code", it.code},
                    {"seed_id", it.seed_id},
                    {"slot", it.slot},
                    {"blueprint", it.blueprint},
                    {"reason", it.reason}});
    case LifecycleEvent::Kind::kGraft:
      return grafted_event(it, epoch, change);
    case LifecycleEvent::Kind::kCull:
      return removed_event(it, epoch, change);
    case LifecycleEvent::Kind::kViolation:
      return event("violation_recorded"_event, Level::kWarning,
                   {{"seed_id", it.seed_id}, {"violations", std::to_string(it.values.at(0).second)}});
    case LifecycleEvent::Kind::kFold:
      return fold_event(it, epoch, change);
    case LifecycleEvent::Kind::kStage:
      break;
  }
  return stage_event(it, epoch);
}

// Each value of the commands once, in their order. value_of: a text of a command, empty where it has none.
template <class ValueOf>
std::string values_text(const leyline::Decision& decision, ValueOf value_of) {
  std::vector<std::string> values;
  for (const auto& command : decision.commands) {
    if (!command.seed_operation) continue;
    std::string value(value_of(command));
    if (!value.empty() && std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
  }
  return ids_text(values);
}

TelemetryEvent decision_event(const leyline::Decision& decision, const std::string& epoch) {
  using leyline::AdaptationCommand;
  const auto operates = [](const AdaptationCommand& command) { return command.seed_operation.has_value(); };
  return event(
      "tamiyo.decision"_event, Level::kInfo,
      {{"epoch", epoch},
       {"commands", base::joined(decision.commands | std::views::filter(operates), ", ", &leyline::command_name)},
       {"operation",
        values_text(decision, [](const AdaptationCommand& it) { return base::name_of(it.seed_operation->operation); })},
       {"seed_id", values_text(decision, [](const AdaptationCommand& it) { return it.target_seed_id; })},
       {"slot", values_text(decision, [](const AdaptationCommand& it) { return it.seed_operation->slot; })},
       {"blueprint",
        values_text(decision, [](const AdaptationCommand& it) { return it.seed_operation->blueprint_id; })},
       {"policy", values_text(decision, [](const AdaptationCommand& it) { return it.issued_by; })},
       {"reason", decision.reason}});
}

// The memory of the seed's parameters and optimizer state, and of its buffers.
std::int64_t memory_of(const step::Model& model, const std::string& seed_id) {
  std::int64_t bytes = 0;
  for (const auto& group : model.state.groups) {
    if (group.id != seed_id) continue;
    for (const auto* tensors :
         {&group.parameters, &group.first_moments, &group.second_moments, &group.averages, &group.gradients}) {
      if (tensors->defined()) bytes += static_cast<std::int64_t>(tensors->flat.nbytes());
    }
  }
  for (const auto& [id, tensor] : model.network.buffers()) {
    if (id.starts_with(seed_id + ".")) bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  return bytes;
}

void follow(leyline::Topology& topology, const LifecycleEvent& it) {
  std::string misfit;
  if (it.kind == LifecycleEvent::Kind::kStage)
    misfit = leyline::apply(topology, {it.slot, it.seed_id, it.blueprint, it.from, it.to});
  if (it.kind == LifecycleEvent::Kind::kFold && it.passed) misfit = leyline::apply_fold(topology, it.slot, it.seed_id);
  ESPER_CHECK(misfit.empty(), "an event that does not follow from the network: " + misfit);
}

bool changes_structure(const LifecycleEvent& it) {
  return it.kind == LifecycleEvent::Kind::kGraft || it.kind == LifecycleEvent::Kind::kCull ||
         (it.kind == LifecycleEvent::Kind::kFold && it.passed);
}

// An epoch's end may remove several seeds, and let parameters of the host learn; what goes with a seed is its own.
StructureChange part_in(const StructureChange& change, const LifecycleEvent& it) {
  if (it.kind != LifecycleEvent::Kind::kCull) return change;
  StructureChange own;
  own.carried = change.carried;
  std::ranges::copy_if(change.dropped, std::back_inserter(own.dropped),
                       [&](const std::string& id) { return id.starts_with(it.seed_id + "."); });
  return own;
}

// A widening that becomes a part of the host: no structure that is reported comes or goes.
bool parts_weights(const LifecycleEvent& it) {
  return it.kind == LifecycleEvent::Kind::kStage && it.to == leyline::Stage::kFossilized &&
         leyline::is_widening(it.blueprint);
}

history::GrowthRecord record_of(const LifecycleEvent& it, const StructureChange& change, const Cause& cause) {
  auto record = kasmina::record_of(it);
  record.event->decision = cause.decision;
  if (changes_structure(it)) {
    record.event->took_ms = cause.took_ms;
    record.event->carried = static_cast<std::int64_t>(change.carried.size());
    record.event->created = change.created;
    record.event->dropped = change.dropped;
    record.event->transformed = change.transformed;
    record.event->reset = change.reset;
    record.event->copied = change.copied;
  }
  if (parts_weights(it)) record.event->transformed = change.transformed;
  return record;
}

}  // namespace

LifecycleLog::LifecycleLog(const step::Model& model, const RunProgress& progress, Outbox& outbox, Saver& saver)
    : model_(model),
      progress_(progress),
      outbox_(outbox),
      saver_(saver),
      topology_(kasmina::topology_of(model.network.save_topology())) {}

void LifecycleLog::report(const std::vector<LifecycleEvent>& happened, const StructureChange& change,
                          const Cause& cause) {
  const std::string epoch = std::to_string(progress_.epoch);
  for (const auto& it : happened) {
    follow(topology_, it);
    const StructureChange own = part_in(change, it);
    events_.push_back(telemetry_of(it, epoch, own));
    auto record = record_of(it, own, cause);
    record.place = {progress_.epoch, progress_.step};
    record.hash = leyline::topology_hash(topology_);
    if (it.kind == LifecycleEvent::Kind::kGraft) record.event->memory_bytes = memory_of(model_, it.seed_id);
    records_.push_back(
        history::growth_record_json(record).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
}

void LifecycleLog::report(const leyline::Decision& decision) {
  events_.push_back(decision_event(decision, std::to_string(progress_.epoch)));
  report_missed(decision);
}

void LifecycleLog::report_missed(const leyline::Decision& decision) {
  for (const auto& missed : decision.warnings) {
    events_.push_back(event("tamiyo.order_missed"_event, Level::kWarning,
                            {{"epoch", std::to_string(progress_.epoch)}, {"reason", missed}}));
  }
}

void LifecycleLog::publish() {
  for (auto& event : std::exchange(events_, {})) outbox_.emit(std::move(event));
  for (auto& record : std::exchange(records_, {})) saver_.record(std::move(record));
  for (auto& record : std::exchange(consulted_, {})) saver_.record(std::move(record));
}

std::string format_cause(const leyline::AdaptationCommand& command, const leyline::Decision& decision) {
  const auto reason = command.annotations.find("reason");
  const std::string why = reason == command.annotations.end() ? decision.reason : reason->second;
  if (!command.seed_operation) return why;
  return fmt::format("{}: {}", base::name_of(command.seed_operation->operation), why);
}

}  // namespace esper::tolaria
