#include "kasmina/slot.h"

#include <algorithm>

#include "base/error.h"

namespace esper::kasmina {

using leyline::Stage;

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

Stage first_stage(const std::string& slot_id, const config::GrowthConfig& growth) {
  const bool listed = growth.slots.empty() || std::ranges::find(growth.slots, slot_id) != growth.slots.end();
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
  evidence.contribution_stderr_points = record.worth.contribution_stderr_points;
  evidence.shapley_points = record.worth.shapley_points;
  return evidence;
}

bool is_leaving(const Slot& slot) {
  if (!slot.seed || slot.stage < Stage::kBlending) return false;
  return slot.seed->alpha.target == 0;
}

}  // namespace esper::kasmina
