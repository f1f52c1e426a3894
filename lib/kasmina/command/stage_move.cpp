#include "kasmina/command/stage_move.h"

#include <fmt/core.h>

#include <optional>

#include "base/error.h"
#include "kasmina/command/command_events.h"
#include "kasmina/command/command_form.h"
#include "kasmina/command/network_probe.h"
#include "kasmina/fold/network_fold.h"
#include "kasmina/network/network_widening.h"
#include "kasmina/seed/widening.h"

namespace esper::kasmina {

using leyline::Stage;

namespace {

Verdict verdict_on(const NetworkState& network, const Slot& slot, Stage to, const torch::Tensor& probe) {
  const auto evidence = evidence_of(slot);
  const auto& gates = network.growth.gates;
  switch (to) {
    case Stage::kTraining:
      return gradient_gate(measure_gradient(network, slot, probe));
    case Stage::kBlending:
      return learning_gate(evidence, gates);
    case Stage::kShadowing:
      return blending_gate(evidence, gates);
    case Stage::kProbationary:
      return shadow_gate(evidence, gates);
    case Stage::kFossilized:
      return contribution_gate(evidence, gates);
    default:
      ESPER_CHECK(false, "no gate leads to this stage");
      return {};
  }
}

void enter(NetworkState& network, Slot& slot, Stage to) {
  auto& seed = *slot.seed;
  const bool was_in_shadow = trains_in_shadow(slot);
  move_slot(slot, to, network.accuracy);
  if (trains_in_shadow(slot) != was_in_shadow) ++network.structure_version;
  seed.alpha = alpha_on_entry(seed, to);
  if (to == Stage::kTraining) seed.training_epoch = network.epoch;
  if (to == Stage::kFossilized) {
    network.structure.ownership.transfer(seed.id, kHostOwner);
    seed.in_host = is_widening(seed);
    ++network.structure_version;
  }
  refresh_scalars(slot, network.growth);
}

}  // namespace

std::vector<LifecycleEvent> advance(NetworkState& network, Slot& slot, Stage to, const PendingCommand& pending) {
  const auto& [command, probe, overwritten] = pending;
  const auto verdict = verdict_on(network, slot, to, probe);
  const auto gate = verdict_event(verdict, slot, to, command);
  if (!verdict.passed) return gate_refusal(gate, command);
  const auto from = slot.stage;
  // All memory is allocated before the move.
  const auto fold = to == Stage::kFossilized ? try_fold(network, slot, probe) : std::nullopt;
  if (fold) overwritten.reserve(overwritten.size() + fold->before.size());
  const auto parting = to == Stage::kFossilized ? parting_of(network, slot) : std::nullopt;
  if (parting) overwritten.push_back(parting->before.front());
  enter(network, slot, to);
  if (parting) write_values(parting->after);
  const auto reason =
      parting ? fmt::format("{}; its columns were subtracted from {}", verdict.reason, slot.site.hidden->outlet)
              : verdict.reason;
  std::vector<LifecycleEvent> events = {gate, stage_event(slot, from, reason, command)};
  if (fold) events.push_back(apply_fold(network, *fold, slot, command.command_id, overwritten));
  return events;
}

// Through every stage that is left, so that its history has no jump.
std::vector<LifecycleEvent> keep(NetworkState& network, Slot& slot, const PendingCommand& pending) {
  const auto& command = pending.command;
  const auto alpha = kept_alpha(command.seed_operation->parameters);
  if (!alpha) return refused(command, "invalid_parameter", alpha.error());
  const auto parting = parting_of(network, slot);
  if (parting && *alpha != 1) return refused(command, "invalid_parameter", "a widening is kept at alpha 1 only");
  if (parting) pending.overwritten.push_back(parting->before.front());
  const auto reason = reason_of(command);
  std::vector<LifecycleEvent> events;
  for (const Stage to :
       {Stage::kTraining, Stage::kBlending, Stage::kShadowing, Stage::kProbationary, Stage::kFossilized}) {
    if (to <= slot.stage) continue;
    const auto from = slot.stage;
    enter(network, slot, to);
    events.push_back(stage_event(slot, from, reason, command));
  }
  slot.seed->alpha = hold_alpha(slot.seed->alpha.curve, *alpha);
  refresh_scalars(slot, network.growth);
  if (parting) write_values(parting->after);
  return events;
}

bool may_fossilize(const NetworkState& network, const std::string& seed_id) {
  const auto* slot = find_seed(network.structure.slots, seed_id);
  return slot && !check_move(slot->stage, Stage::kFossilized) &&
         contribution_gate(evidence_of(*slot), network.growth.gates).passed;
}

}  // namespace esper::kasmina
