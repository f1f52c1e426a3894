#include "kasmina/network.h"

#include <algorithm>

#include "base/error.h"
#include "config/slot_alpha.h"

namespace esper::kasmina {

using leyline::Stage;

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> ids_of(const std::vector<SlotSite>& sites) {
  std::vector<std::string> ids;
  for (const auto& site : sites) ids.push_back(site.id);
  return ids;
}

// At a slot that growth.slots does not leave out.
bool fits_somewhere(const std::string& name, const std::vector<SlotSite>& sites, const config::GrowthConfig& growth) {
  return std::ranges::any_of(sites, [&](const SlotSite& site) {
    if (!growth.slots.empty() && !contains(growth.slots, site.id)) return false;
    const Blueprint* blueprint = find_blueprint(name, site.shape.kind);
    return blueprint != nullptr && refusal(*blueprint, site.shape).empty();
  });
}

// Names in the configuration that mean nothing are the user's mistakes, found before the first step, all of them.
void check_names(const config::GrowthConfig& growth, const std::vector<SlotSite>& sites) {
  const auto slots = ids_of(sites);
  std::vector<std::string> kinds, problems;
  for (const auto& blueprint : blueprints()) {
    if (!contains(kinds, blueprint.name)) kinds.emplace_back(blueprint.name);
  }
  const std::string there = slots.empty() ? "none" : joined(slots);
  for (const auto& name : growth.slots) {
    if (contains(slots, name)) continue;
    problems.push_back("growth.slots: this host has no slot \"" + name + "\"; it has " + there);
  }
  for (const auto& text : growth.slot_alpha) {
    const auto own = config::read_slot_alpha(text);
    if (own && contains(slots, own->slot)) continue;
    problems.push_back("growth.slot_alpha: \"" + text + "\" is for no slot of this host; it has " + there);
  }
  for (const auto& name : growth.blueprints) {
    if (contains(kinds, name)) continue;
    problems.push_back("growth.blueprints: no blueprint is called \"" + name + "\"; known are " + joined(kinds));
  }
  const bool any_fits =
      std::ranges::any_of(growth.blueprints, [&](const auto& name) { return fits_somewhere(name, sites, growth); });
  if (growth.enabled && problems.empty() && !growth.blueprints.empty() && !sites.empty() && !any_fits) {
    problems.push_back("growth.blueprints: none of " + joined(growth.blueprints) + " fits a slot " +
                       (growth.slots.empty() ? "of this host" : "that growth.slots names") +
                       "; docs/blueprints.md says what grows where");
  }
  if (problems.empty()) return;
  std::string text;
  for (const auto& problem : problems) text += (text.empty() ? "" : "\n") + problem;
  throw base::Error(base::ExitCode::kConfig, text);
}

}  // namespace

Network::Network(const config::HostConfig& host, const config::GrowthConfig& growth, const leyline::SampleShape& sample,
                 std::uint64_t run_seed, torch::Device device)
    : host_(build_host(host, sample, run_seed, device)), growth_(growth), run_seed_(run_seed), device_(device) {
  check_names(growth_, host_.sites);
  for (const auto& site : host_.sites) {
    Slot slot;
    slot.site = site;
    move_slot(slot, Stage::kDormant, std::nullopt);
    if (first_stage(site.id, growth_) != Stage::kDormant) move_slot(slot, Stage::kTerminated, std::nullopt);
    slots_.push_back(std::move(slot));
  }
  build_in(host.modules);
  rebuild_ownership();
}

torch::Tensor Network::forward(const torch::Tensor& inputs, Mode mode) const {
  return host_.forward(inputs, mode, [this, mode](std::size_t slot, const torch::Tensor& feature) {
    const auto& seed = slots_[slot].seed;
    return seed ? apply_seed(*seed, feature, mode) : feature;
  });
}

SlotTaps Network::tap(const torch::Tensor& inputs, Mode mode, torch::Tensor& output) const {
  const auto order_of_birth = [this](const Slot& of) {
    return std::count_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
      return is_growing(slot.stage) && slot.seed->number < of.seed->number;
    });
  };
  const auto growing = std::count_if(slots_.begin(), slots_.end(), [](auto& slot) { return is_growing(slot.stage); });
  SlotTaps taps(static_cast<std::size_t>(growing));
  output = host_.forward(inputs, mode, [&, this](std::size_t at, const torch::Tensor& feature) {
    const Slot& slot = slots_[at];
    if (!is_growing(slot.stage)) return slot.seed ? apply_seed(*slot.seed, feature, mode) : feature;
    SlotTap& tap = taps[static_cast<std::size_t>(order_of_birth(slot))];
    tap = tap_seed(*slot.seed, feature, mode);
    return tap.output;
  });
  return taps;
}

std::vector<const Slot*> Network::in_order_of_birth() const {
  std::vector<const Slot*> found;
  for (const auto& slot : slots_) {
    if (slot.seed) found.push_back(&slot);
  }
  std::sort(found.begin(), found.end(), [](auto* a, auto* b) { return a->seed->number < b->seed->number; });
  return found;
}

Slot* Network::find_seed(const std::string& seed_id) {
  for (auto& slot : slots_) {
    if (slot.seed && slot.seed->id == seed_id) return &slot;
  }
  return nullptr;
}

std::vector<ParameterGroup> Network::parameter_groups() const {
  std::vector<ParameterGroup> groups = {{kHostOwner, kHostOwner, host_.tensors.parameters}};
  for (const auto* slot : in_order_of_birth()) {
    const auto& seed = *slot->seed;
    if (seed.folded) continue;
    groups.push_back(
        {seed.id, is_growing(slot->stage) ? seed.id : kHostOwner, seed.module.tensors.parameters, slot->site.id});
  }
  return groups;
}

std::vector<NamedTensor> Network::buffers() const {
  auto all = host_.tensors.buffers;
  for (const auto* slot : in_order_of_birth()) {
    const auto& own = slot->seed->module.tensors.buffers;
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<NamedTensor> Network::scalars() const {
  std::vector<NamedTensor> all;
  for (const auto* slot : in_order_of_birth()) {
    const auto& [id, scalars] = std::tie(slot->seed->id, slot->seed->scalars);
    if (slot->seed->folded) continue;
    all.push_back({id + ".alpha", scalars.alpha});
    all.push_back({id + ".straight_through", scalars.straight_through});
    all.push_back({id + ".isolation_gate", scalars.isolation_gate});
    all.push_back({id + ".training_gate", scalars.training_gate});
  }
  return all;
}

std::vector<std::string> Network::allowed_blueprints(const Slot& slot) const {
  std::vector<std::string> names;
  if (slot.stage == Stage::kTerminated) return names;
  for (const auto& blueprint : blueprints()) {
    if (blueprint.fits != slot.site.shape.kind || !refusal(blueprint, slot.site.shape).empty()) continue;
    const bool named = contains(growth_.blueprints, blueprint.name);
    // A module without parameters cannot learn: it is grown only when the run asks for it by name.
    const bool by_default = growth_.blueprints.empty() && blueprint.num_parameters(slot.site.shape) > 0;
    if (named || by_default) names.emplace_back(blueprint.name);
  }
  return names;
}

std::vector<leyline::SlotState> Network::export_slots() const {
  std::vector<leyline::SlotState> states;
  for (const auto& slot : slots_) states.push_back({slot.site.id, slot.stage, allowed_blueprints(slot)});
  return states;
}

std::vector<leyline::SeedState> Network::export_seed_states() const {
  std::vector<leyline::SeedState> states;
  for (const auto* slot : in_order_of_birth()) {
    const auto& seed = *slot->seed;
    const auto& record = seed.record;
    leyline::SeedState state;
    state.seed_id = seed.id;
    state.slot = slot->site.id;
    state.blueprint = seed.blueprint->name;
    state.stage = slot->stage;
    state.gradient_norm = static_cast<float>(record.gradient_norm);
    state.learning_rate = static_cast<float>(record.learning_rate);
    state.layer_depth = static_cast<std::uint32_t>(slot - slots_.data());
    state.age_epochs = record.age_epochs;
    state.stage_epochs = slot->stage_epochs;
    state.metrics = {{"alpha", scalar_values(slot->stage, seed.alpha, growth_).alpha},
                     {"alpha_target", seed.schedule.target},
                     {"alpha_ticks", seed.alpha.ticks},
                     {"alpha_total_ticks", seed.alpha.total_ticks},
                     {"params", static_cast<double>(seed.module.tensors.num_parameters())},
                     {"epochs_in_stage", slot->stage_epochs}};
    const auto measured = [&](const char* name, std::optional<double> value) {
      if (value) state.metrics[name] = *value;
    };
    measured("gradient_ratio", record.gradient_ratio);
    measured("improvement_points", record.improvement_points());
    measured("shadow_points", record.shadow_points());
    measured("contribution_points", record.contribution_points());
    measured("contribution_stderr_points", record.worth.contribution_stderr_points);
    measured("shapley_points", record.worth.shapley_points);
    measured("shapley_stderr_points", record.worth.shapley_stderr_points);
    states.push_back(std::move(state));
  }
  return states;
}

std::vector<std::string> Network::seeds_to_measure() const {
  std::vector<std::string> ids;
  for (const auto* slot : in_order_of_birth()) {
    if (slot->stage == Stage::kProbationary) ids.push_back(slot->seed->id);
  }
  return ids;
}

std::vector<std::string> Network::seeds_to_shadow() const {
  std::vector<std::string> ids;
  for (const auto* slot : in_order_of_birth()) {
    const bool below_full = slot->stage == Stage::kShadowing && slot->seed->alpha.value < 1;
    if (slot->stage == Stage::kTraining || below_full) ids.push_back(slot->seed->id);
  }
  return ids;
}

void Network::refresh_scalars(Slot& slot) {
  if (slot.seed->folded) return;
  write_scalars(slot.seed->scalars, scalar_values(slot.stage, slot.seed->alpha, growth_));
}

void Network::rebuild_ownership() {
  OwnershipRegistry owners;
  for (const auto& group : parameter_groups()) owners.claim(group.parameters, group.owner);
  ownership_ = std::move(owners);
}

AlphaOverride::AlphaOverride(Network& network, const std::string& seed_id, double alpha) {
  const auto* slot = network.find_seed(seed_id);
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
