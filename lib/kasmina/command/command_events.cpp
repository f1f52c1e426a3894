#include "kasmina/command/command_events.h"

#include "base/names.h"
#include "kasmina/command/command_form.h"

namespace esper::kasmina {

using leyline::AdaptationCommand;
using leyline::Stage;

LifecycleEvent event_of(LifecycleEvent::Kind kind, const Slot& slot, const AdaptationCommand& command) {
  LifecycleEvent event;
  event.kind = kind;
  event.slot = slot.site.id;
  event.command_id = command.command_id;
  event.from = event.to = slot.stage;
  if (slot.seed) {
    event.seed_id = slot.seed->id;
    event.blueprint = name_of(slot.seed->kind);
  }
  return event;
}

LifecycleEvent verdict_event(const Verdict& verdict, const Slot& slot, Stage to, const AdaptationCommand& command) {
  auto event = event_of(LifecycleEvent::Kind::kGate, slot, command);
  event.to = to;
  event.reason = verdict.reason;
  event.values = verdict.values;
  if (verdict.gate == Gate::kG5 && slot.seed) {  // a fossil gets no further epoch reports
    const auto& value = slot.seed->record.seed_value;
    if (value.shapley_stderr_points) event.values.emplace_back("shapley_stderr_points", *value.shapley_stderr_points);
    if (value.shapley_half_width_points) {
      event.values.emplace_back("shapley_half_width_points", *value.shapley_half_width_points);
    }
  }
  event.required = verdict.required;
  event.code = base::name_of(verdict.gate);
  event.passed = verdict.passed;
  return event;
}

LifecycleEvent stage_event(const Slot& slot, Stage from, const std::string& reason, const AdaptationCommand& command) {
  auto event = event_of(LifecycleEvent::Kind::kStage, slot, command);
  event.from = from;
  event.reason = reason;
  return event;
}

std::vector<LifecycleEvent> gate_refusal(const LifecycleEvent& verdict, const AdaptationCommand& command) {
  auto refusal = refusal_of(command, "gate_failed", verdict.code + " failed: " + verdict.reason);
  refusal.slot = verdict.slot;
  refusal.blueprint = verdict.blueprint;
  refusal.from = verdict.from;
  refusal.to = verdict.to;
  return {verdict, refusal};
}

std::string reason_of(const AdaptationCommand& command) {
  const auto reason = command.annotations.find("reason");
  return reason == command.annotations.end() ? "command" : reason->second;
}

}  // namespace esper::kasmina
