#include "kasmina/network.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/joined.h"
#include "kasmina/block_copy.h"
#include "kasmina/step_cost.h"
#include "kasmina/widening.h"

namespace esper::kasmina {

using leyline::Stage;

namespace {

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// True if the blueprint fits a slot that growth.slots includes.
bool fits_somewhere(const std::string& name, const std::vector<SlotSite>& sites, const config::GrowthConfig& growth) {
  return std::ranges::any_of(sites, [&](const SlotSite& site) {
    if (!growth.slots.empty() && !contains(growth.slots, site.id)) return false;
    const Blueprint* blueprint = find_blueprint(name, site.shape.kind);
    return blueprint != nullptr && check_fit({blueprint}, site);
  });
}

// The names were checked with the configuration; the sizes of features are known only here.
void require_fit(const config::GrowthConfig& growth, const std::vector<SlotSite>& sites) {
  if (!growth.enabled || growth.blueprints.empty() || sites.empty()) return;
  if (std::ranges::any_of(growth.blueprints, [&](const auto& name) { return fits_somewhere(name, sites, growth); })) {
    return;
  }
  throw base::Error(
      base::ExitCode::kConfig,
      fmt::format("growth.blueprints: none of {} fits a slot {}; see docs/blueprints.md",
                  base::joined(growth.blueprints), growth.slots.empty() ? "of this host" : "that growth.slots names"));
}

}  // namespace

Network::Network(const config::HostConfig& host, const config::GrowthConfig& growth, const leyline::SampleShape& sample,
                 std::uint64_t run_seed, torch::Device device)
    : host_(build_host(host, sample, run_seed, device)), growth_(growth), run_seed_(run_seed), device_(device) {
  require_fit(growth_, host_.sites);
  for (const auto& site : host_.sites) {
    Slot slot;
    slot.site = site;
    move_slot(slot, Stage::kDormant, std::nullopt);
    if (first_stage(site.id, growth_) != Stage::kDormant) move_slot(slot, Stage::kTerminated, std::nullopt);
    structure_.slots.push_back(std::move(slot));
    rules_.push_back(rules_at(site, growth_));
  }
  build_in(host.modules);
  rebuild_ownership();
}

torch::Tensor Network::forward(const torch::Tensor& inputs, Mode mode) const {
  return host_.forward(inputs, mode, [this, mode](std::size_t slot, const BlockOutput& from) {
    return output_of(structure_.slots[slot], from, mode);
  });
}

SlotTaps Network::tap(const torch::Tensor& inputs, Mode mode, torch::Tensor& output) const {
  const auto creation_order = [this](const Slot& of) {
    return std::count_if(structure_.slots.begin(), structure_.slots.end(), [&](const Slot& slot) {
      return is_growing(slot.stage) && slot.seed->number < of.seed->number;
    });
  };
  const auto growing = std::count_if(structure_.slots.begin(), structure_.slots.end(),
                                     [](auto& slot) { return is_growing(slot.stage); });
  SlotTaps taps(static_cast<std::size_t>(growing));
  output = host_.forward(inputs, mode, [&, this](std::size_t at, const BlockOutput& from) -> SlotOutput {
    const Slot& slot = structure_.slots[at];
    if (!is_growing(slot.stage)) return output_of(slot, from, mode);
    SlotTap& tap = taps[static_cast<std::size_t>(creation_order(slot))];
    if (!trains_in_shadow(slot)) {
      SlotOutput passed{torch::Tensor()};
      tap = tap_pass(*slot.seed, from, mode, passed);
      return passed;
    }
    tap = tap_shadow(at, from.feature);
    return tap.output;
  });
  return taps;
}

std::vector<ParameterGroup> Network::parameter_groups() const {
  std::vector<ParameterGroup> groups = {{kHostOwner, kHostOwner, host_.tensors.parameters}};
  for (const auto* slot : in_creation_order(structure_.slots)) {
    const auto& seed = *slot->seed;
    if (seed.folded) continue;
    const bool grows = is_growing(slot->stage);
    groups.push_back({seed.id, grows ? seed.id : kHostOwner, seed.module.tensors.parameters, slot->site.id,
                      seed.scalars.training_gate, grows ? seed.scalars.isolation_gate : torch::Tensor(),
                      scalar_values(seed, slot->stage, growth_).training_gate > 0, seed.training_epoch});
    groups.back().in_shadow = trains_in_shadow(*slot);
    if (grows) groups.back().copies = copies_of(seed, slot->site, host_.tensors);
  }
  return groups;
}

std::vector<NamedTensor> Network::buffers() const {
  auto all = host_.tensors.buffers;
  for (const auto* slot : in_creation_order(structure_.slots)) {
    const auto& own = slot->seed->module.tensors.buffers;
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<NamedTensor> Network::scalars() const {
  std::vector<NamedTensor> all;
  for (const auto* slot : in_creation_order(structure_.slots)) {
    const auto& [id, scalars] = std::tie(slot->seed->id, slot->seed->scalars);
    if (slot->seed->folded) continue;
    all.push_back({id + ".alpha", scalars.alpha});
    all.push_back({id + ".straight_through", scalars.straight_through});
    all.push_back({id + ".isolation_gate", scalars.isolation_gate});
    all.push_back({id + ".training_gate", scalars.training_gate});
  }
  return all;
}

std::vector<leyline::SlotState> Network::export_slots() const {
  double flops = host_flops(host_);
  for (const auto* slot : in_creation_order(structure_.slots)) {
    const auto& [blueprint, copies] = slot->seed->kind;
    if (!slot->seed->folded) flops += static_cast<double>(copies * blueprint->flops(slot->site.shape));
  }
  std::vector<leyline::SlotState> states;
  for (const auto& slot : structure_.slots) {
    leyline::SlotState state{slot.site.id, slot.stage, {}};
    if (slot.stage != Stage::kTerminated) {
      for (const auto* blueprint : rules_[index_of(slot)].allowed) {
        if (!check_inlet(slot, *blueprint)) continue;
        state.blueprints.emplace_back(blueprint->name);
        if (flops > 0) state.step_costs.push_back(static_cast<double>(blueprint->flops(slot.site.shape)) / flops);
      }
    }
    states.push_back(std::move(state));
  }
  return states;
}

std::vector<leyline::SeedState> Network::export_seed_states() const {
  std::vector<leyline::SeedState> states;
  for (const auto* slot : in_creation_order(structure_.slots)) {
    const auto& seed = *slot->seed;
    const auto& record = seed.record;
    leyline::SeedState state;
    state.seed_id = seed.id;
    state.slot = slot->site.id;
    state.blueprint = name_of(seed.kind);
    state.stage = slot->stage;
    state.gradient_norm = static_cast<float>(record.gradient_norm);
    state.learning_rate = static_cast<float>(record.learning_rate);
    state.layer_depth = static_cast<std::uint32_t>(index_of(*slot));
    state.age_epochs = record.age_epochs;
    state.stage_epochs = slot->stage_epochs;
    state.figures = {.alpha = scalar_values(seed, slot->stage, growth_).alpha,
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

std::vector<std::string> Network::seeds_to_measure() const {
  std::vector<std::string> ids;
  for (const auto* slot : in_creation_order(structure_.slots)) {
    if (slot->stage == Stage::kProbationary) ids.push_back(slot->seed->id);
  }
  return ids;
}

std::vector<std::string> Network::seeds_to_shadow() const {
  std::vector<std::string> ids;
  for (const auto* slot : in_creation_order(structure_.slots)) {
    const bool is_judged = slot->stage == Stage::kTraining || slot->stage == Stage::kShadowing;
    if (is_judged && slot->seed->alpha.value < 1) ids.push_back(slot->seed->id);
  }
  return ids;
}

void Network::rebuild_ownership() {
  OwnershipRegistry owners;
  for (const auto& group : parameter_groups()) owners.claim(group.parameters, group.owner);
  structure_.ownership = std::move(owners);
}

AlphaOverride::AlphaOverride(Network& network, const std::string& seed_id, double alpha) {
  const auto* slot = find_seed(network.structure_.slots, seed_id);
  ESPER_CHECK(slot, "no seed " + seed_id + " whose alpha could be overridden");
  const at::NoGradGuard no_grad;
  alpha_ = slot->seed->scalars.alpha;
  saved_ = alpha_.clone();
  alpha_.fill_(alpha);
}

AlphaOverride::~AlphaOverride() {
  const at::NoGradGuard no_grad;
  alpha_.copy_(saved_);
}

}  // namespace esper::kasmina
