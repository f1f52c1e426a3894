#include "kasmina/command/removal.h"

#include "kasmina/command/command_events.h"

namespace esper::kasmina {

using leyline::Stage;

std::vector<LifecycleEvent> cull(NetworkState& network, Slot& slot, const std::string& reason,
                                 const std::string& command_id) {
  LifecycleEvent stage;
  stage.seed_id = slot.seed->id;
  stage.slot = slot.site.id;
  stage.blueprint = name_of(slot.seed->kind);
  stage.from = slot.stage;
  stage.to = Stage::kCulled;
  stage.reason = reason;
  stage.command_id = command_id;
  auto gone = stage;
  gone.kind = LifecycleEvent::Kind::kCull;
  gone.values = {{"age_epochs", slot.seed->record.age_epochs},
                 {"params", static_cast<double>(slot.seed->module.tensors.num_parameters())},
                 {"alpha", slot.seed->alpha.value}};
  network.structure.ownership.release(slot.seed->id);
  move_slot(slot, Stage::kCulled, std::nullopt);
  ++network.structure_version;
  return {stage, gone};
}

std::vector<LifecycleEvent> cancel(NetworkState& network, Slot& slot, const leyline::AdaptationCommand& command) {
  auto& alpha = slot.seed->alpha;
  if (alpha.value == 0) return cull(network, slot, "cancelled at alpha 0", command.command_id);
  alpha = hold_alpha(alpha.curve, alpha.value);
  retarget(alpha, 0, slot.seed->schedule.ticks);
  tick(alpha);
  if (is_leaving(slot) && alpha.value == 0) return cull(network, slot, "cancelled", command.command_id);
  refresh_scalars(slot, network.growth);
  return {stage_event(slot, slot.stage, "cancelled: blending out before removal", command)};
}

}  // namespace esper::kasmina
