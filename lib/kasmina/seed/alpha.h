#pragma once
// How far a seed is blended in, epoch by epoch: plain data and the functions that advance it. Any thread.

#include <string>

#include "config/growth_config.h"

namespace esper::kasmina {

enum class AlphaMode { kHold, kUp, kDown };
constexpr auto names(AlphaMode) {
  using M = AlphaMode;
  return std::array{std::pair{M::kHold, "HOLD"}, std::pair{M::kUp, "UP"}, std::pair{M::kDown, "DOWN"}};
}

// How a seed is blended in: from growth.alpha_*, growth.slot_alpha, or the command that germinated it. A seed keeps its
// schedule for its whole life.
struct AlphaSchedule {
  config::AlphaCurve curve = config::AlphaCurve::kSigmoid;
  int ticks = 5;      // epochs from 0 to the target, and back
  double target = 1;  // where BLENDING ends
  bool operator==(const AlphaSchedule&) const = default;
};
// The schedule of seeds at that slot, unless a command overrides it.
AlphaSchedule schedule_at(const std::string& slot, const config::GrowthConfig& growth);

// HOLD: value equals target. UP and DOWN: between start and target, `ticks` of `total_ticks` done.
struct AlphaController {
  AlphaMode mode = AlphaMode::kHold;
  config::AlphaCurve curve = config::AlphaCurve::kLinear;
  double start = 0, target = 0, value = 0;  // 0..1
  int ticks = 0, total_ticks = 0;           // one tick per epoch
  bool operator==(const AlphaController&) const = default;
};

// The curve's value at time t, both 0..1; exactly 0 at 0 and 1 at 1. cosine: 0.5 (1 - cos(pi t)). sigmoid: logistic of
// steepness 12 around 0.5, shifted and scaled to reach both ends.
double curve_at(config::AlphaCurve curve, double t);

// Alpha held at a value.
AlphaController hold_alpha(config::AlphaCurve curve, double value);
// Starts a move to a target in [0, 1] that takes `ticks` >= 1 ticks. Only from HOLD; otherwise returns false and
// changes nothing.
bool retarget(AlphaController& alpha, double target, int ticks);
// Advances by one epoch; the last tick sets the target exactly and ends in HOLD. HOLD is unchanged.
void tick(AlphaController& alpha);

}  // namespace esper::kasmina
