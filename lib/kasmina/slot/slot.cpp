#include "kasmina/slot/slot.h"

#include <algorithm>

#include "base/error.h"
#include "config/facts/slot_geometry.h"
#include "kasmina/seed/widening.h"

namespace esper::kasmina {

using leyline::Stage;

namespace {

template <class Slots>
auto holder_of(Slots& slots, const std::string& seed_id) -> decltype(slots.data()) {
  for (auto& slot : slots) {
    if (slot.seed && slot.seed->id == seed_id) return &slot;
  }
  return nullptr;
}

}  // namespace

void move_slot(Slot& slot, Stage to, std::optional<double> accuracy) {
  if (const auto illegal = check_move(slot.stage, to)) ESPER_CHECK(false, slot.site.id + ": " + illegal->text());
  slot.stage = to;
  slot.stage_epochs = 0;
  if (!holds_seed(to)) {
    slot.seed.reset();
    return;
  }
  ESPER_CHECK(slot.seed.has_value(), slot.site.id + " entered a seed's stage without a seed");
  slot.seed->record.accuracy_at_stage_start = accuracy;
}

SlotRules rules_at(const SlotSite& site, const config::GrowthConfig& growth) {
  SlotRules rules{schedule_at(site.id, growth), {}};
  for (const auto& blueprint : blueprints()) {
    if (!check_fit({&blueprint}, site)) continue;
    const bool named = std::ranges::find(growth.blueprints, blueprint.name) != growth.blueprints.end();
    const bool by_default = growth.blueprints.empty() && !leyline::must_be_named(blueprint);
    if (named || by_default) rules.allowed.push_back(&blueprint);
  }
  return rules;
}

Stage first_stage(const std::string& slot_id, const config::GrowthConfig& growth) {
  const bool listed = config::may_grow_at(growth.slots, slot_id);
  return growth.enabled && listed ? Stage::kDormant : Stage::kTerminated;
}

EpochEvidence evidence_of(const Slot& slot) {
  ESPER_CHECK(slot.seed.has_value(), slot.site.id + " holds no seed");
  const auto& record = slot.seed->record;
  EpochEvidence evidence;
  evidence.stage_epochs = slot.stage_epochs;
  evidence.improvement_points = record.improvement_points();
  evidence.gradient_ratio = record.gradient_ratio;
  evidence.alpha = slot.seed->alpha.value;
  evidence.alpha_target = slot.seed->schedule.target;
  evidence.shadow_points = record.shadow_points();
  evidence.contribution_points = record.contribution_points();
  evidence.contribution_stderr_points = record.seed_value.contribution_stderr_points;
  evidence.contribution_half_width_points = record.seed_value.contribution_half_width_points;
  evidence.shapley_points = record.seed_value.shapley_points;
  evidence.worth = record.worth;
  return evidence;
}

std::vector<const Slot*> in_creation_order(const std::vector<Slot>& slots) {
  std::vector<const Slot*> found;
  for (const auto& slot : slots) {
    if (slot.seed) found.push_back(&slot);
  }
  std::ranges::sort(found, {}, [](const Slot* slot) { return slot->seed->number; });
  return found;
}

Slot* find_seed(std::vector<Slot>& slots, const std::string& seed_id) { return holder_of(slots, seed_id); }
const Slot* find_seed(const std::vector<Slot>& slots, const std::string& seed_id) { return holder_of(slots, seed_id); }

Slot* find_holder(std::vector<Slot>& slots, const std::string& slot_id) {
  const auto slot = std::ranges::find(slots, slot_id, [](const Slot& known) { return known.site.id; });
  return slot != slots.end() && slot->seed ? &*slot : nullptr;
}

void refresh_scalars(const Slot& slot, const config::GrowthConfig& growth) {
  if (slot.seed->folded) return;
  write_scalars(slot.seed->scalars, scalar_values(*slot.seed, slot.stage, growth));
}

bool trains_in_shadow(const Slot& slot) {
  return slot.stage == Stage::kTraining && slot.seed->training == config::SeedTraining::kShadow;
}

SlotOutput output_of(const Slot& slot, const BlockOutput& from, Mode mode) {
  const bool is_absent = !slot.seed || (is_training(mode) && trains_in_shadow(slot));
  return is_absent ? SlotOutput(from.feature) : pass_seed(*slot.seed, from, mode);
}

bool is_leaving(const Slot& slot) {
  if (!slot.seed) return false;
  const bool blends = slot.seed->training == config::SeedTraining::kBlended;
  return slot.stage >= (blends ? Stage::kTraining : Stage::kBlending) && slot.seed->alpha.target == 0;
}

}  // namespace esper::kasmina
