#include "tamiyo/service/conservative_mode.h"

namespace esper::tamiyo {

ModeChange update_mode(ConservativeMode& mode, const ModeEvidence& evidence, int recovery_evaluations) {
  if (evidence.enter_reason) {
    const bool is_new = !mode.is_active;
    mode = {.is_active = true, .calm_evaluations = 0};
    return is_new ? ModeChange::kEntered : ModeChange::kNone;
  }
  if (!mode.is_active) return ModeChange::kNone;
  const bool is_calm = evidence.is_calm && evidence.breaker_closed;
  mode.calm_evaluations = is_calm ? mode.calm_evaluations + 1 : 0;
  if (mode.calm_evaluations < recovery_evaluations || !is_calm) return ModeChange::kNone;
  mode = {};
  return ModeChange::kExited;
}

}  // namespace esper::tamiyo
