#include "kasmina/network/network_seeds.h"

#include <utility>

#include "kasmina/host/step_cost.h"
#include "kasmina/network/network_widening.h"

namespace esper::kasmina {

using leyline::Stage;

std::vector<leyline::SeedState> export_seed_states(const NetworkState& network) {
  std::vector<leyline::SeedState> states;
  for (const auto* slot : in_creation_order(network.structure.slots)) {
    const auto& seed = *slot->seed;
    const auto& record = seed.record;
    leyline::SeedState state;
    state.seed_id = seed.id;
    state.slot = slot->site.id;
    state.blueprint = name_of(seed.kind);
    state.stage = slot->stage;
    state.gradient_norm = static_cast<float>(record.gradient_norm);
    state.learning_rate = static_cast<float>(record.learning_rate);
    state.layer_depth = static_cast<std::uint32_t>(index_of(network, *slot));
    state.age_epochs = record.age_epochs;
    state.stage_epochs = slot->stage_epochs;
    state.figures = {.alpha = scalar_values(seed, slot->stage, network.growth).alpha,
                     .alpha_target = seed.schedule.target,
                     .alpha_ticks = seed.alpha.ticks,
                     .params = seed.module.tensors.num_parameters(),
                     .gradient_ratio = record.gradient_ratio,
                     .improvement_points = record.improvement_points(),
                     .shadow_points = record.shadow_points(),
                     .contribution_points = record.contribution_points(),
                     .contribution_stderr_points = record.seed_value.contribution_stderr_points,
                     .contribution_half_width_points = record.seed_value.contribution_half_width_points,
                     .shapley_points = record.seed_value.shapley_points,
                     .shapley_stderr_points = record.seed_value.shapley_stderr_points,
                     .shapley_half_width_points = record.seed_value.shapley_half_width_points,
                     .worth = record.worth};
    states.push_back(std::move(state));
  }
  return states;
}

std::vector<leyline::SeedState> export_growing_seed_states(const NetworkState& network) {
  auto seeds = export_seed_states(network);
  std::erase_if(seeds, [](const leyline::SeedState& seed) { return !is_growing(seed.stage); });
  return seeds;
}

std::vector<std::string> growing_seeds(const NetworkState& network) {
  std::vector<std::string> ids;
  for (const auto* slot : in_creation_order(network.structure.slots)) {
    if (is_growing(slot->stage)) ids.push_back(slot->seed->id);
  }
  return ids;
}

std::vector<leyline::SlotState> export_slots(const NetworkState& network) {
  double flops = host_flops(network.host);
  for (const auto* slot : in_creation_order(network.structure.slots)) {
    const auto& [blueprint, copies] = slot->seed->kind;
    if (!slot->seed->folded) flops += static_cast<double>(copies * blueprint->flops(slot->site.shape));
  }
  std::vector<leyline::SlotState> states;
  for (const auto& slot : network.structure.slots) {
    leyline::SlotState state{slot.site.id, slot.stage, {}};
    if (slot.stage != Stage::kTerminated) {
      for (const auto* blueprint : network.rules[index_of(network, slot)].allowed) {
        if (!check_inlet(network, slot, *blueprint)) continue;
        state.blueprints.emplace_back(blueprint->name);
        if (flops > 0) state.step_costs.push_back(static_cast<double>(blueprint->flops(slot.site.shape)) / flops);
      }
    }
    states.push_back(std::move(state));
  }
  return states;
}

std::vector<std::string> active_seeds(const NetworkState& network) {
  std::vector<std::string> ids;
  for (const auto* slot : in_creation_order(network.structure.slots)) {
    const bool heard = scalar_values(*slot->seed, slot->stage, network.growth).alpha > 0;
    if (is_growing(slot->stage) && heard) ids.push_back(slot->seed->id);
  }
  return ids;
}

std::vector<std::string> seeds_to_measure(const NetworkState& network) {
  std::vector<std::string> ids;
  for (const auto* slot : in_creation_order(network.structure.slots)) {
    if (slot->stage == Stage::kProbationary) ids.push_back(slot->seed->id);
  }
  return ids;
}

std::vector<std::string> seeds_to_shadow(const NetworkState& network) {
  std::vector<std::string> ids;
  for (const auto* slot : in_creation_order(network.structure.slots)) {
    const bool is_judged = slot->stage == Stage::kTraining || slot->stage == Stage::kShadowing;
    if (is_judged && slot->seed->alpha.value < 1) ids.push_back(slot->seed->id);
  }
  return ids;
}

}  // namespace esper::kasmina
