// Commands: which ones the network rejects and why, and what an accepted one does.

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/names.h"
#include "device/out_of_memory.h"
#include "kasmina/block_copy.h"
#include "kasmina/change.h"
#include "kasmina/command_form.h"
#include "kasmina/widening.h"

namespace esper::kasmina {

using leyline::AdaptationCommand;
using leyline::SeedOperation;
using leyline::Stage;

namespace {

using Events = std::vector<LifecycleEvent>;
using Kind = LifecycleEvent::Kind;

constexpr std::size_t kRememberedCommands = 1024;

LifecycleEvent event_of(Kind kind, const Slot& slot, const AdaptationCommand& command) {
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
  auto event = event_of(Kind::kGate, slot, command);
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
  auto event = event_of(Kind::kStage, slot, command);
  event.from = from;
  event.reason = reason;
  return event;
}

Events gate_refusal(const LifecycleEvent& verdict, const AdaptationCommand& command) {
  auto refusal = refusal_of(command, "gate_failed", verdict.code + " failed: " + verdict.reason);
  refusal.slot = verdict.slot;
  refusal.blueprint = verdict.blueprint;
  refusal.from = verdict.from;
  refusal.to = verdict.to;
  return {verdict, refusal};
}

}  // namespace

std::vector<LifecycleEvent> Network::apply(const AdaptationCommand& command, const torch::Tensor& probe,
                                           std::uint64_t now_ns) {
  Change change(*this);
  auto events = change.apply(command, probe, now_ns);
  change.commit();
  return events;
}

void Network::require_no_change() const {
  ESPER_CHECK(!is_changing_, "the network is being changed: commit or roll back that change first");
}

bool Network::is_known(const AdaptationCommand& command) const {
  const auto& known = structure_.command_ids;
  return std::ranges::find(known, command.command_id) != known.end();
}

std::vector<LifecycleEvent> Network::apply_order(const Order& order, std::uint64_t now_ns) {
  const auto& command = order.command;
  ESPER_CHECK(!c10::InferenceMode::is_enabled(), "a graft's tensors must not be born in inference mode");
  if (auto refusal = refuse_form(command, now_ns); !refusal.empty()) return refusal;
  if (is_known(command)) {
    return refused(command, "duplicate_command", "a command with this id was executed before");
  }
  auto events = carry_out(order);
  if (events.back().kind != Kind::kCommandRejected) {
    auto& known = structure_.command_ids;
    known.push_back(command.command_id);
    if (known.size() > kRememberedCommands) known.pop_front();
  }
  return events;
}

bool Network::may_germinate(const AdaptationCommand& command, std::uint64_t now_ns) {
  if (!refuse_form(command, now_ns).empty() || is_known(command)) return false;
  Germination wanted;
  return command.seed_operation->operation == SeedOperation::kGerminate && resolve(command, wanted).empty();
}

// Operations allocate memory before they change anything: a seed is built and measured first.
std::vector<LifecycleEvent> Network::carry_out(const Order& order) {
  const bool births = order.command.seed_operation->operation == SeedOperation::kGerminate;
  try {
    return births ? germinate(order.command, order.probe) : move_seed(order);
  } catch (const std::exception& error) {
    const std::string lack = device::out_of_memory_message(error);
    if (lack.empty()) throw;
    return refused(order.command, "out_of_memory", lack);
  }
}

std::vector<LifecycleEvent> Network::resolve(const AdaptationCommand& command, Germination& out) {
  const auto& wanted = *command.seed_operation;
  auto& slots = structure_.slots;
  const auto place = std::ranges::find(slots, wanted.slot, [](const Slot& slot) { return slot.site.id; });
  if (!growth_.enabled) return refused(command, "growth_disabled", "growth.enabled is false in this run");
  if (!command.target_seed_id.empty()) {
    return refused(command, "unexpected_target",
                   "GERMINATE takes a slot, not a seed: the id is assigned at germination");
  }
  if (place == slots.end()) return refused(command, "unknown_slot", "this host has no slot \"" + wanted.slot + "\"");
  if (const auto illegal = check_move(place->stage, Stage::kGerminated)) {
    const auto code = holds_seed(place->stage)             ? "slot_occupied"
                      : place->stage == Stage::kTerminated ? "slot_not_allowed"
                                                           : "slot_resting";
    return refused(command, code, wanted.slot + ": " + illegal->text());
  }
  const auto kind = find_seed_kind(wanted.blueprint_id, place->site.shape.kind);
  if (!kind) return refused(command, "unknown_blueprint", wanted.slot + ": " + kind.error());
  if (const auto fit = check_fit(*kind, place->site); !fit) {
    return refused(command, "blueprint_does_not_fit", fit.error());
  }
  const auto& rules = rules_[index_of(*place)];
  if (std::ranges::find(rules.allowed, kind->blueprint) == rules.allowed.end()) {
    return refused(command, "blueprint_not_allowed", "growth.blueprints does not name it");
  }
  if (const auto free = check_inlet(*place, *kind->blueprint); !free) {
    return refused(command, "blueprint_does_not_fit", free.error());
  }
  if (std::ranges::count_if(slots, [](const Slot& slot) { return is_growing(slot.stage); }) >= growth_.max_seeds) {
    return refused(command, "too_many_seeds",
                   fmt::format("growth.max_seeds of {} are growing already", growth_.max_seeds));
  }
  const auto schedule = schedule_from(wanted.parameters, rules.schedule);
  if (!schedule) return refused(command, "invalid_parameter", schedule.error());
  out = {&*place, *kind, *schedule};
  return {};
}

std::vector<LifecycleEvent> Network::germinate(const AdaptationCommand& command, const torch::Tensor& probe) {
  Germination wanted;
  if (auto refusal = resolve(command, wanted); !refusal.empty()) return refusal;
  const auto& [place, kind, schedule] = wanted;
  auto seed = make_seed({structure_.seeds_born + 1, kind, place->site, schedule}, growth_, run_seed_, device_);
  copy_block(seed, place->site, host_.tensors);
  const auto evidence = measure_graft(index_of(*place), seed, probe);
  const auto verdict = sanity_gate(evidence);
  auto gate = verdict_event(verdict, *place, Stage::kGerminated, command);
  gate.blueprint = name_of(kind);
  if (!verdict.passed) return gate_refusal(gate, command);

  gate.seed_id = seed.id;
  structure_.ownership.claim(seed.module.tensors.parameters, seed.id);
  place->seed = std::move(seed);
  move_slot(*place, Stage::kGerminated, accuracy_);
  ++structure_.seeds_born;
  ++structure_version_;
  auto graft = event_of(Kind::kGraft, *place, command);
  graft.values = verdict.values;
  graft.values.emplace_back("params", static_cast<double>(place->seed->module.tensors.num_parameters()));
  graft.reason = "grafted at alpha 0; the blueprint's initial output is " + std::string(kind.blueprint->start);
  return {gate, graft, stage_event(*place, Stage::kDormant, verdict.reason, command)};
}

std::vector<LifecycleEvent> Network::move_seed(const Order& order) {
  const auto& command = order.command;
  const auto& wanted = *command.seed_operation;
  // A policy that germinates and starts a seed in one decision does not know its id.
  const bool by_slot = wanted.operation == SeedOperation::kStartTraining && command.target_seed_id.empty();
  auto* slot =
      by_slot ? find_holder(structure_.slots, wanted.slot) : find_seed(structure_.slots, command.target_seed_id);
  if (!slot && by_slot) return refused(command, "unknown_seed", "no active seed at slot \"" + wanted.slot + "\"");
  if (!slot) {
    return refused(command, "unknown_seed", "no active seed \"" + command.target_seed_id + "\"");
  }
  if (!wanted.slot.empty() && wanted.slot != slot->site.id) {
    return refused(command, "wrong_slot",
                   fmt::format("{} is at {}, not at {}", slot->seed->id, slot->site.id, wanted.slot));
  }
  if (!wanted.blueprint_id.empty() && wanted.blueprint_id != name_of(slot->seed->kind)) {
    return refused(command, "wrong_blueprint",
                   fmt::format("{} is a {}, not a {}", slot->seed->id, name_of(slot->seed->kind), wanted.blueprint_id));
  }
  const bool keeps = wanted.operation == SeedOperation::kKeep;
  const auto to = wanted_stage(wanted.operation).value_or(keeps ? Stage::kFossilized : Stage::kCulled);
  const auto illegal = check_move(slot->stage, to);
  if (illegal && !(keeps && is_growing(slot->stage))) {
    return refused(command, "illegal_move", slot->seed->id + ": " + illegal->text());
  }
  if (is_leaving(*slot) && wanted.operation != SeedOperation::kCull) {
    return refused(command, "seed_is_leaving", slot->seed->id + " is being blended out");
  }
  const auto reason = command.annotations.find("reason");
  if (wanted.operation == SeedOperation::kCull) {
    return cull(*slot, reason == command.annotations.end() ? "command" : reason->second, command.command_id);
  }
  if (wanted.operation == SeedOperation::kCancel) return cancel(*slot, command);
  if (!keeps) return advance(*slot, to, order);
  const auto parting = parting_of(*slot);
  if (parting) order.overwritten.push_back(parting->before.front());
  auto events = keep(*slot, command);
  if (parting) write_values(parting->after);
  return events;
}

std::vector<LifecycleEvent> Network::cancel(Slot& slot, const AdaptationCommand& command) {
  auto& alpha = slot.seed->alpha;
  if (alpha.value == 0) return cull(slot, "cancelled at alpha 0", command.command_id);
  alpha = hold_alpha(alpha.curve, alpha.value);
  retarget(alpha, 0, slot.seed->schedule.ticks);
  tick(alpha);
  if (is_leaving(slot) && alpha.value == 0) return cull(slot, "cancelled", command.command_id);
  refresh_scalars(slot, growth_);
  return {stage_event(slot, slot.stage, "cancelled: blending out before removal", command)};
}

Verdict Network::judge(const Slot& slot, Stage to, const torch::Tensor& probe) {
  const auto evidence = evidence_of(slot);
  switch (to) {
    case Stage::kTraining:
      return gradient_gate(measure_gradient(slot, probe));
    case Stage::kBlending:
      return learning_gate(evidence, growth_.gates);
    case Stage::kShadowing:
      return blending_gate(evidence, growth_.gates);
    case Stage::kProbationary:
      return shadow_gate(evidence, growth_.gates);
    case Stage::kFossilized:
      return contribution_gate(evidence, growth_.gates);
    default:
      ESPER_CHECK(false, "no gate leads to this stage");
      return {};
  }
}

std::vector<LifecycleEvent> Network::advance(Slot& slot, Stage to, const Order& order) {
  const auto& command = order.command;
  const auto verdict = judge(slot, to, order.probe);
  const auto gate = verdict_event(verdict, slot, to, command);
  if (!verdict.passed) return gate_refusal(gate, command);
  const auto from = slot.stage;
  // All memory is allocated before the move.
  const auto fold = to == Stage::kFossilized ? try_fold(slot, order.probe) : std::nullopt;
  if (fold) order.overwritten.reserve(order.overwritten.size() + fold->before.size());
  const auto parting = to == Stage::kFossilized ? parting_of(slot) : std::nullopt;
  if (parting) order.overwritten.push_back(parting->before.front());
  enter(slot, to);
  if (parting) write_values(parting->after);
  const auto reason = parting
                          ? fmt::format("{}; its columns were taken off {}", verdict.reason, slot.site.hidden->outlet)
                          : verdict.reason;
  Events events = {gate, stage_event(slot, from, reason, command)};
  if (fold) events.push_back(carry_out(*fold, slot, order));
  return events;
}

// Through every stage that is left, so that its history has no jump.
std::vector<LifecycleEvent> Network::keep(Slot& slot, const AdaptationCommand& command) {
  const auto why = command.annotations.find("reason");
  Events events;
  for (const Stage to :
       {Stage::kTraining, Stage::kBlending, Stage::kShadowing, Stage::kProbationary, Stage::kFossilized}) {
    if (to <= slot.stage) continue;
    const auto from = slot.stage;
    enter(slot, to);
    events.push_back(stage_event(slot, from, why == command.annotations.end() ? "command" : why->second, command));
  }
  return events;
}

void Network::enter(Slot& slot, Stage to) {
  auto& seed = *slot.seed;
  const bool was_in_shadow = trains_in_shadow(slot);
  move_slot(slot, to, accuracy_);
  if (trains_in_shadow(slot) != was_in_shadow) ++structure_version_;
  seed.alpha = alpha_on_entry(seed, to);
  if (to == Stage::kTraining) seed.training_epoch = epoch_;
  if (to == Stage::kFossilized) {
    structure_.ownership.transfer(seed.id, kHostOwner);
    seed.in_host = is_widening(seed);
    ++structure_version_;
  }
  refresh_scalars(slot, growth_);
}

}  // namespace esper::kasmina
