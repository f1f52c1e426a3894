#pragma once
// Reasons not to grow now, whatever the host's progress: too few epochs left, capacity is not what is missing, or the
// epoch stands out. Pure functions; a further reason is one more entry of the list in growth_guards.cpp. Any thread.

#include <span>

#include "base/expected.h"
#include "config/growth_config.h"
#include "config/policy_config.h"
#include "leyline/observation.h"

namespace esper::tamiyo {

// Epochs from the decision to germinate to the one that fossilises, if every gate passes at once.
int shortest_life(const config::GrowthConfig& growth);

struct Horizon {
  int epochs = 0;         // of the run
  int shortest_life = 0;  // of a seed
};
// A seed must have the time to fossilise, and the network then the time to gain by it. Off where min_share_left is 0.
base::Expected<void> check_horizon(const Horizon& horizon, const config::HeuristicConfig& config, std::uint32_t epoch);

// A network that fits its training data, or is better on them than on others by much, does not lack capacity.
base::Expected<void> check_capacity(const leyline::Observation& observation, const config::HeuristicConfig& config);

// losses: validation losses of the epochs before. A loss that is further above their mean than three standard
// deviations, and shown to be higher where that was measured, is a bad epoch, and no sign of a missing module.
base::Expected<void> check_outlier(std::span<const double> losses, const leyline::Observation& observation);

// What a guard may look at.
struct GrowthQuestion {
  const leyline::Observation& observation;
  const config::HeuristicConfig& config;
  const Horizon& horizon;
  std::span<const double> losses;  // validation losses of the epochs before
};
// The first reason not to grow.
base::Expected<void> check_guards(const GrowthQuestion& question);

}  // namespace esper::tamiyo
