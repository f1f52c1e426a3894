#include "kasmina/command/germination.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/expected.h"
#include "kasmina/command/command_events.h"
#include "kasmina/command/command_form.h"
#include "kasmina/command/network_probe.h"
#include "kasmina/network/network_widening.h"
#include "kasmina/seed/block_copy.h"

namespace esper::kasmina {

using leyline::AdaptationCommand;
using leyline::Stage;

namespace {

// What a command names.
struct Germination {
  std::size_t slot = 0;
  SeedKind kind;
  AlphaSchedule schedule;
};

// Fails with the events of the rejected command.
base::Expected<Germination, std::vector<LifecycleEvent>> resolve(const NetworkState& network,
                                                                 const AdaptationCommand& command) {
  const auto reject = [&](const std::string& code, const std::string& reason) {
    return base::failure(refused(command, code, reason));
  };
  const auto& wanted = *command.seed_operation;
  const auto& slots = network.structure.slots;
  const auto place = std::ranges::find(slots, wanted.slot, [](const Slot& slot) { return slot.site.id; });
  if (!network.growth.enabled) return reject("growth_disabled", "growth.enabled is false in this run");
  if (!command.target_seed_id.empty()) {
    return reject("unexpected_target", "GERMINATE takes a slot, not a seed: the id is assigned at germination");
  }
  if (place == slots.end()) return reject("unknown_slot", "this host has no slot \"" + wanted.slot + "\"");
  if (const auto illegal = check_move(place->stage, Stage::kGerminated)) {
    const auto code = holds_seed(place->stage)             ? "slot_occupied"
                      : place->stage == Stage::kTerminated ? "slot_not_allowed"
                                                           : "slot_resting";
    return reject(code, wanted.slot + ": " + illegal->text());
  }
  const auto kind = find_seed_kind(wanted.blueprint_id, place->site.shape.kind);
  if (!kind) return reject("unknown_blueprint", wanted.slot + ": " + kind.error());
  if (const auto fit = check_fit(*kind, place->site); !fit) return reject("blueprint_does_not_fit", fit.error());
  const auto& rules = network.rules[index_of(network, *place)];
  if (std::ranges::find(rules.allowed, kind->blueprint) == rules.allowed.end()) {
    return reject("blueprint_not_allowed", "growth.blueprints does not name it");
  }
  if (const auto free = check_inlet(network, *place, *kind->blueprint); !free) {
    return reject("blueprint_does_not_fit", free.error());
  }
  const auto most = network.growth.max_seeds;
  if (std::ranges::count_if(slots, [](const Slot& slot) { return is_growing(slot.stage); }) >= most) {
    return reject("too_many_seeds", fmt::format("growth.max_seeds of {} are growing already", most));
  }
  const auto schedule = schedule_from(wanted.parameters, rules.schedule);
  if (!schedule) return reject("invalid_parameter", schedule.error());
  return Germination{index_of(network, *place), *kind, *schedule};
}

}  // namespace

std::vector<LifecycleEvent> refuse_germination(const NetworkState& network, const AdaptationCommand& command) {
  const auto wanted = resolve(network, command);
  return wanted ? std::vector<LifecycleEvent>{} : wanted.error();
}

std::vector<LifecycleEvent> germinate(NetworkState& network, const PendingCommand& pending) {
  const auto& command = pending.command;
  const auto wanted = resolve(network, command);
  if (!wanted) return wanted.error();
  auto& structure = network.structure;
  auto& place = structure.slots[wanted->slot];
  const auto& kind = wanted->kind;
  auto seed = make_seed({structure.seeds_born + 1, kind, place.site, wanted->schedule}, network.growth,
                        network.run_seed, network.device);
  copy_block(seed, place.site, network.host.tensors);
  const auto verdict = sanity_gate(measure_graft(network, wanted->slot, seed, pending.probe));
  auto gate = verdict_event(verdict, place, Stage::kGerminated, command);
  gate.blueprint = name_of(kind);
  if (!verdict.passed) return gate_refusal(gate, command);

  gate.seed_id = seed.id;
  structure.ownership.claim(seed.module.tensors.parameters, seed.id);
  place.seed = std::move(seed);
  move_slot(place, Stage::kGerminated, network.accuracy);
  ++structure.seeds_born;
  ++network.structure_version;
  auto graft = event_of(LifecycleEvent::Kind::kGraft, place, command);
  graft.values = verdict.values;
  graft.values.emplace_back("params", static_cast<double>(place.seed->module.tensors.num_parameters()));
  graft.reason = "grafted at alpha 0; the blueprint's initial output is " + std::string(kind.blueprint->start);
  return {gate, graft, stage_event(place, Stage::kDormant, verdict.reason, command)};
}

}  // namespace esper::kasmina
