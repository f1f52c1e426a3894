#include "simic/imitation/target.h"

#include <fmt/core.h>

#include <algorithm>

#include "config/entries/slot_alpha.h"
#include "tamiyo/decision/choice.h"
#include "tamiyo/decision/masks.h"
#include "tamiyo/gnn_controller.h"

namespace esper::simic {

using leyline::CommandSeedOperation;
using leyline::Observation;
using tamiyo::Action;

namespace {

const CommandSeedOperation* germination_in(const leyline::Decision& decision) {
  for (const auto& command : decision.commands) {
    if (command.seed_operation && command.seed_operation->operation == leyline::SeedOperation::kGerminate) {
      return &*command.seed_operation;
    }
  }
  return nullptr;
}

// What the command says, else what the run would take.
double parameter_of(const CommandSeedOperation& germination, const Observation& observation, const std::string& name,
                    double otherwise) {
  if (const auto given = germination.parameters.find(name); given != germination.parameters.end()) return given->second;
  const auto usual = std::ranges::find(observation.parameters, name, &leyline::CommandParameter::name);
  return usual == observation.parameters.end() ? otherwise : usual->usual;
}

// The inverse of tamiyo::blend_of(). All parameters of 0 and more ask for the whole seed: one in their midst.
BlendTarget blend_target(const CommandSeedOperation& germination, const Observation& observation) {
  constexpr double kWhole = 0.5;
  constexpr double kLeast = config::SlotAlpha::kLeastTarget;
  const double curve = parameter_of(germination, observation, "alpha_curve", 0);
  const double ticks = parameter_of(germination, observation, "alpha_ticks", 1);
  const double target = parameter_of(germination, observation, "alpha_target", 1);
  const double length = (ticks - 1) / (tamiyo::kMostBlendTicks - 1);
  return {std::clamp(static_cast<int>(curve), 0, tamiyo::kBlendingMethods - 1),
          static_cast<float>(std::clamp(length, 0.0, 1.0)),
          static_cast<float>(target >= 1 ? kWhole : std::clamp((target - 1) / (1 - kLeast), -1.0, 0.0))};
}

std::vector<Action> possible_of(const tamiyo::Masks& masks) {
  std::vector<Action> possible;
  for (const auto& row : tamiyo::kActionTable) {
    const bool of_care = std::ranges::find(tamiyo::kActionsOfCare, row.action) != tamiyo::kActionsOfCare.end();
    if (!of_care && masks.allows(row.action)) possible.push_back(row.action);
  }
  return possible;
}

base::Expected<void> set_germination(const TaughtDecision& taught, const CommandSeedOperation& germination,
                                     Target& target) {
  const auto& [observation, decision, candidates, max_seeds] = taught;
  const auto has_slot = [&](int row) {
    return candidates.seeds[static_cast<std::size_t>(row)].slot == germination.slot;
  };
  const auto slot = std::ranges::find_if(target.slots, has_slot);
  if (slot == target.slots.end()) {
    return base::failure(fmt::format("slot {} is not one that the network could choose", germination.slot));
  }
  target.slot = *slot;
  target.blueprints = candidates.fits[static_cast<std::size_t>(*slot)];
  const auto has_name = [&](int row) {
    return candidates.blueprints[static_cast<std::size_t>(row)] == germination.blueprint_id;
  };
  const auto blueprint = std::ranges::find_if(target.blueprints, has_name);
  if (blueprint == target.blueprints.end()) {
    return base::failure(
        fmt::format("blueprint {} is not one that the network could choose", germination.blueprint_id));
  }
  target.blueprint = *blueprint;
  target.action = Action::kGerminate;
  target.blend = blend_target(germination, observation);
  return {};
}

}  // namespace

base::Expected<Target> target_of(const TaughtDecision& taught) {
  const auto masks = tamiyo::masks_of(taught.candidates, taught.observation, taught.max_seeds);
  Target target;
  target.possible = possible_of(masks);
  const auto* germination = germination_in(taught.decision);
  if (germination == nullptr) return target;
  target.slots = masks.targets_of(Action::kGerminate);
  if (auto set = set_germination(taught, *germination, target); !set) return base::failure(set.error());
  return target;
}

}  // namespace esper::simic
