#pragma once
#include <cstdint>

#include "config/field.h"

namespace esper::config {

// The learning rate of a seed: that of the run times a factor of its own, from the step at which its training begins
// until the run's end. Formulas: step/seed_rates.h.
enum class SeedScheduleKind { kRun, kCosine };
constexpr auto names(SeedScheduleKind) {
  using K = SeedScheduleKind;
  return std::array{std::pair{K::kRun, "run"}, std::pair{K::kCosine, "cosine"}};
}

struct SeedScheduleConfig {
  SeedScheduleKind kind = SeedScheduleKind::kRun;
  std::int64_t warmup_steps = 0;
  double scale = 1.0;
  std::int64_t host_rewarm_steps = 0;
  bool operator==(const SeedScheduleConfig&) const = default;

  template <class = void>
  static constexpr auto fields() {
    using C = SeedScheduleConfig;
    return std::tuple{
        field("kind", &C::kind,
              "run: as training.schedule; cosine: its own, from the seed's first training step to the run's end"),
        field("warmup_steps", &C::warmup_steps, "linear warm-up from the seed's first training step", at_least(0)),
        field("scale", &C::scale, "factor on the seed's learning rate, fossilised seeds included", between(0, 1e3)),
        field("host_rewarm_steps", &C::host_rewarm_steps,
              "linear warm-up of all other parameters from a seed's first training step; 0 turns it off", at_least(0))};
  }
};

}  // namespace esper::config
