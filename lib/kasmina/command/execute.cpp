#include "kasmina/command/execute.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "device/out_of_memory.h"
#include "kasmina/command/command_events.h"
#include "kasmina/command/command_form.h"
#include "kasmina/command/germination.h"
#include "kasmina/command/removal.h"
#include "kasmina/command/stage_move.h"

namespace esper::kasmina {

using leyline::AdaptationCommand;
using leyline::SeedOperation;
using leyline::Stage;

namespace {

constexpr std::size_t kRememberedCommands = 1024;

bool is_known(const NetworkState& network, const AdaptationCommand& command) {
  const auto& known = network.structure.command_ids;
  return std::ranges::find(known, command.command_id) != known.end();
}

// A policy that germinates and starts a seed in one decision does not know its id.
bool names_slot_only(const AdaptationCommand& command) {
  return command.seed_operation->operation == SeedOperation::kStartTraining && command.target_seed_id.empty();
}

// Null if there is no such seed.
Slot* target_of(std::vector<Slot>& slots, const AdaptationCommand& command) {
  return names_slot_only(command) ? find_holder(slots, command.seed_operation->slot)
                                  : find_seed(slots, command.target_seed_id);
}

std::vector<LifecycleEvent> refuse_target(const AdaptationCommand& command) {
  return refused(command, "unknown_seed",
                 names_slot_only(command) ? "no active seed at slot \"" + command.seed_operation->slot + "\""
                                          : "no active seed \"" + command.target_seed_id + "\"");
}

Stage stage_after(SeedOperation operation) {
  return wanted_stage(operation).value_or(operation == SeedOperation::kKeep ? Stage::kFossilized : Stage::kCulled);
}

// Why the slot's seed cannot do what the command says, gates aside; empty if it can.
std::vector<LifecycleEvent> refuse_move(const Slot& slot, const AdaptationCommand& command) {
  const auto& wanted = *command.seed_operation;
  const auto& seed = *slot.seed;
  if (!wanted.slot.empty() && wanted.slot != slot.site.id) {
    return refused(command, "wrong_slot", fmt::format("{} is at {}, not at {}", seed.id, slot.site.id, wanted.slot));
  }
  if (!wanted.blueprint_id.empty() && wanted.blueprint_id != name_of(seed.kind)) {
    return refused(command, "wrong_blueprint",
                   fmt::format("{} is a {}, not a {}", seed.id, name_of(seed.kind), wanted.blueprint_id));
  }
  const auto illegal = check_move(slot.stage, stage_after(wanted.operation));
  if (illegal && !(wanted.operation == SeedOperation::kKeep && is_growing(slot.stage))) {
    return refused(command, "illegal_move", seed.id + ": " + illegal->text());
  }
  if (is_leaving(slot) && wanted.operation != SeedOperation::kCull) {
    return refused(command, "seed_is_leaving", seed.id + " is being blended out");
  }
  return {};
}

std::vector<LifecycleEvent> move_seed(NetworkState& network, const PendingCommand& pending) {
  const auto& command = pending.command;
  auto* slot = target_of(network.structure.slots, command);
  if (!slot) return refuse_target(command);
  if (auto refusal = refuse_move(*slot, command); !refusal.empty()) return refusal;
  switch (const auto operation = command.seed_operation->operation) {
    case SeedOperation::kCull:
      return cull(network, *slot, reason_of(command), command.command_id);
    case SeedOperation::kCancel:
      return cancel(network, *slot, command);
    case SeedOperation::kKeep:
      return keep(network, *slot, pending);
    default:
      return advance(network, *slot, stage_after(operation), pending);
  }
}

// Operations allocate memory before they change anything: a seed is built and measured first.
std::vector<LifecycleEvent> carry_out(NetworkState& network, const PendingCommand& pending) {
  const bool births = pending.command.seed_operation->operation == SeedOperation::kGerminate;
  try {
    return births ? germinate(network, pending) : move_seed(network, pending);
  } catch (const std::exception& error) {
    const std::string lack = device::out_of_memory_message(error);
    if (lack.empty()) throw;
    return refused(pending.command, "out_of_memory", lack);
  }
}

}  // namespace

std::vector<LifecycleEvent> execute(NetworkState& network, const PendingCommand& pending, std::uint64_t now_ns) {
  const auto& command = pending.command;
  ESPER_CHECK(!c10::InferenceMode::is_enabled(), "a graft's tensors must not be born in inference mode");
  if (auto refusal = refuse_form(command, now_ns); !refusal.empty()) return refusal;
  if (is_known(network, command)) {
    return refused(command, "duplicate_command", "a command with this id was executed before");
  }
  auto events = carry_out(network, pending);
  if (events.back().kind != LifecycleEvent::Kind::kCommandRejected) {
    auto& known = network.structure.command_ids;
    known.push_back(command.command_id);
    if (known.size() > kRememberedCommands) known.pop_front();
  }
  return events;
}

bool may_germinate(const NetworkState& network, const AdaptationCommand& command, std::uint64_t now_ns) {
  return refuse_form(command, now_ns).empty() && !is_known(network, command) &&
         command.seed_operation->operation == SeedOperation::kGerminate && refuse_germination(network, command).empty();
}

}  // namespace esper::kasmina
