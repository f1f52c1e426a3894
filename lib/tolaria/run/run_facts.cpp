#include "tolaria/run/run_facts.h"

#include "step/schedule.h"

namespace esper::tolaria {

double RunFacts::learning_rate(std::int64_t step) const {
  const auto& training = config.training;
  const std::int64_t steps = steps_per_epoch();
  return step::learning_rate(training.optimizer.lr, training.schedule, {steps, steps * config.epochs}, step);
}

}  // namespace esper::tolaria
