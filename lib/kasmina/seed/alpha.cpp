#include "kasmina/seed/alpha.h"

#include <cmath>
#include <numbers>

#include "base/error.h"

namespace esper::kasmina {

namespace {

constexpr double kSteepness = 12.0;

double logistic(double t) { return 1.0 / (1.0 + std::exp(-kSteepness * (t - 0.5))); }

}  // namespace

AlphaSchedule schedule_at(const std::string& slot, const config::GrowthConfig& growth) {
  for (const auto& own : growth.slot_alpha) {
    ESPER_CHECK(own, "growth.slot_alpha was not checked: " + own.text());
    if (own->slot == slot) return {own->curve, own->ticks, own->target};
  }
  return {growth.alpha_curve, growth.alpha_ticks, growth.alpha_target};
}

double curve_at(config::AlphaCurve curve, double t) {
  switch (curve) {
    case config::AlphaCurve::kLinear:
      return t;
    case config::AlphaCurve::kCosine:
      return 0.5 * (1.0 - std::cos(std::numbers::pi * t));
    case config::AlphaCurve::kSigmoid:
      return (logistic(t) - logistic(0)) / (logistic(1) - logistic(0));
  }
  return t;
}

AlphaController hold_alpha(config::AlphaCurve curve, double value) {
  AlphaController alpha;
  alpha.curve = curve;
  alpha.start = alpha.target = alpha.value = value;
  return alpha;
}

bool retarget(AlphaController& alpha, double target, int ticks) {
  ESPER_CHECK(target >= 0 && target <= 1 && ticks >= 1, "alpha's target or ticks out of range");
  if (alpha.mode != AlphaMode::kHold) return false;
  alpha.mode = target >= alpha.value ? AlphaMode::kUp : AlphaMode::kDown;
  alpha.start = alpha.value;
  alpha.target = target;
  alpha.ticks = 0;
  alpha.total_ticks = ticks;
  return true;
}

void tick(AlphaController& alpha) {
  if (alpha.mode == AlphaMode::kHold) return;
  if (++alpha.ticks >= alpha.total_ticks) {
    alpha.value = alpha.target;
    alpha.mode = AlphaMode::kHold;
    return;
  }
  const double done = static_cast<double>(alpha.ticks) / alpha.total_ticks;
  alpha.value = alpha.start + (alpha.target - alpha.start) * curve_at(alpha.curve, done);
}

}  // namespace esper::kasmina
