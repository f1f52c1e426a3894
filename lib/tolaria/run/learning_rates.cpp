#include "tolaria/run/learning_rates.h"

#include <torch/types.h>

namespace esper::tolaria {

LearningRates::LearningRates(const RunFacts& facts, step::Model& model)
    : facts_(facts),
      model_(model),
      schedule_{facts.config.growth.seed_schedule, facts.config.training.schedule, facts.length()} {}

void LearningRates::follow_network() {
  if (!schedule_.is_default()) groups_ = model_.network.parameter_groups();
}

void LearningRates::set(std::int64_t step) {
  step::set_learning_rate(model_.state, facts_.learning_rate(step));
  if (!groups_.empty()) step::write_lr_scales(model_.state, step::lr_scales(schedule_, groups_, step));
}

}  // namespace esper::tolaria
