#include "tamiyo/service/decision_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/names.h"
#include "base/text/printable.h"
#include "leyline/blueprint/blueprint_name.h"

namespace esper::tamiyo {

using leyline::AdaptationCommand;
using leyline::Observation;
using leyline::SeedOperation;

namespace {

using ProblemKind = DecisionProblem::Kind;
using Checked = base::Expected<void, DecisionProblem>;

base::Failure<DecisionProblem> problem_of(ProblemKind kind, std::string text) {
  return base::failure(DecisionProblem{kind, std::move(text)});
}

bool is_finite(const std::optional<double>& figure) { return !figure || std::isfinite(*figure); }

Checked check_assessment(const leyline::Assessment& it) {
  const bool blends =
      !it.blending || (std::isfinite(it.blending->schedule_start) && std::isfinite(it.blending->schedule_end));
  const bool covered =
      std::ranges::all_of(it.family_coverage, [](const auto& one) { return std::isfinite(one.second); });
  if (blends && covered && is_finite(it.value) && is_finite(it.risk) && is_finite(it.coverage) &&
      is_finite(it.seed_score) && is_finite(it.network_ms)) {
    return {};
  }
  return problem_of(ProblemKind::kMalformed, "a figure of its assessment is not finite");
}

Checked check_form(const AdaptationCommand& command) {
  if (command.command_id.empty()) return problem_of(ProblemKind::kMalformed, "a command has no id");
  if (command.command_type != leyline::CommandType::kSeed || !command.seed_operation) {
    return problem_of(ProblemKind::kMalformed, command.command_id + " is not a SEED command with an operation");
  }
  const auto operation = command.seed_operation->operation;
  if (operation == SeedOperation::kKeep || base::name_of(operation).empty()) {
    return problem_of(ProblemKind::kMalformed, command.command_id + " has an operation that no policy may command");
  }
  for (const auto& [name, value] : command.seed_operation->parameters) {
    if (std::isfinite(value)) continue;
    return problem_of(ProblemKind::kMalformed,
                      fmt::format("{} of {} is {}", base::in_quotes(name), command.command_id, value));
  }
  return {};
}

Checked check_germination(const AdaptationCommand& command, const Observation& observation) {
  const auto& [operation, slot_id, blueprint, parameters] = *command.seed_operation;
  const auto slot = std::ranges::find(observation.slots, slot_id, &leyline::SlotState::slot);
  if (slot == observation.slots.end()) {
    return problem_of(ProblemKind::kUnknownSeed, fmt::format("there is no slot {}", base::in_quotes(slot_id)));
  }
  if (std::ranges::find(slot->blueprints, leyline::without_copies(blueprint)) != slot->blueprints.end()) return {};
  return problem_of(ProblemKind::kUnknownBlueprint,
                    fmt::format("{} cannot grow {}", slot_id, base::in_quotes(base::shortened(blueprint))));
}

Checked check_target(const AdaptationCommand& command, const Observation& observation) {
  const auto& slot = command.seed_operation->slot;
  if (command.target_seed_id.empty()) {
    if (std::ranges::find(observation.slots, slot, &leyline::SlotState::slot) != observation.slots.end()) return {};
    return problem_of(ProblemKind::kUnknownSeed, fmt::format("there is no slot {}", base::in_quotes(slot)));
  }
  const auto& seeds = observation.seed_states;
  if (std::ranges::find(seeds, command.target_seed_id, &leyline::SeedState::seed_id) != seeds.end()) return {};
  return problem_of(ProblemKind::kUnknownSeed,
                    fmt::format("there is no seed {}", base::in_quotes(base::shortened(command.target_seed_id))));
}

Checked check_names(const AdaptationCommand& command, const Observation& observation) {
  return command.seed_operation->operation == SeedOperation::kGerminate ? check_germination(command, observation)
                                                                        : check_target(command, observation);
}

}  // namespace

Checked check_decision(const leyline::Decision& decision, const Observation& observation) {
  if (decision.commands.size() > kMostCommands) {
    return problem_of(ProblemKind::kMalformed, fmt::format("it has {} commands", decision.commands.size()));
  }
  if (decision.assessment) {
    if (auto finite = check_assessment(*decision.assessment); !finite) return finite;
  }
  for (const auto& command : decision.commands) {
    if (auto formed = check_form(command); !formed) return formed;
    if (auto known = check_names(command, observation); !known) return known;
  }
  return {};
}

}  // namespace esper::tamiyo
