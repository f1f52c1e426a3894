#include "tamiyo/decision/choice_commands.h"

#include <fmt/core.h>

#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "leyline/seed_command.h"

namespace esper::tamiyo {

using leyline::AdaptationCommand;
using leyline::SeedOperation;

namespace {

AdaptationCommand germination_of(const Choice& choice, const std::string& slot, const std::string& blueprint) {
  auto command = leyline::germination({}, slot, blueprint);
  command.seed_operation->parameters = {
      {"alpha_curve", choice.blend.curve}, {"alpha_ticks", choice.blend.ticks}, {"alpha_target", choice.blend.target}};
  return command;
}

// As the other policies have it: a seed that blends from its first step on starts to train with its germination.
AdaptationCommand start_at(const std::string& slot) {
  auto command = leyline::seed_command({}, SeedOperation::kStartTraining, {});
  command.seed_operation->slot = slot;
  return command;
}

SeedOperation operation_of(Action action, leyline::Stage stage) {
  if (action == Action::kCull) return SeedOperation::kCull;
  if (action == Action::kCancel) return SeedOperation::kCancel;
  const auto next = next_operation(stage);
  ESPER_CHECK(action == Action::kAdvance && next, "only a growing seed is advanced");
  return *next;
}

std::string figures_text(const Choice& choice) {
  return fmt::format("probability {:.3g}, value {:.3g}, risk {:.3g}", choice.probability,
                     choice.assessment.value.value_or(0), choice.assessment.risk.value_or(0));
}

// Without ids, reasons and times.
std::vector<AdaptationCommand> bare_commands(const Choice& choice, const Candidates& candidates,
                                             config::SeedTraining training) {
  if (choice.action == Action::kWait) return {};
  const auto& target = candidates.seeds.at(static_cast<std::size_t>(choice.seed));
  if (choice.action != Action::kGerminate) {
    return {leyline::seed_command({}, operation_of(choice.action, target.stage), target.seed_id)};
  }
  const auto& blueprint = candidates.blueprints.at(static_cast<std::size_t>(choice.blueprint));
  std::vector<AdaptationCommand> commands = {germination_of(choice, target.slot, blueprint)};
  if (training != config::SeedTraining::kStraightThrough) commands.push_back(start_at(target.slot));
  return commands;
}

std::string sentence_of(const AdaptationCommand& command) {
  const auto& operation = *command.seed_operation;
  const auto name = base::name_of(operation.operation);
  if (operation.operation == SeedOperation::kGerminate) {
    return fmt::format("{} {} at {}", name, operation.blueprint_id, operation.slot);
  }
  return fmt::format("{} {}", name, command.target_seed_id.empty() ? operation.slot : command.target_seed_id);
}

}  // namespace

leyline::Decision decision_of(const Choice& choice, const Candidates& candidates,
                              const leyline::Observation& observation, const CommandSettings& settings) {
  leyline::Decision decision;
  const auto figures = figures_text(choice);
  for (auto& command : bare_commands(choice, candidates, settings.training)) {
    command.command_id =
        fmt::format("{}-e{}-{}", observation.training_run_id, observation.current_epoch, decision.commands.size() + 1);
    command.issued_at_ns = observation.timestamp_ns;
    command.issued_by = settings.issuer;
    command.annotations["reason"] = fmt::format("the network chose {}: {}", row_of(choice.action).name, figures);
    decision.reason += sentence_of(command) + "; ";
    decision.commands.push_back(std::move(command));
  }
  decision.reason += fmt::format("the network chose {}: {}", row_of(choice.action).name, figures);
  decision.assessment = choice.assessment;
  return decision;
}

}  // namespace esper::tamiyo
