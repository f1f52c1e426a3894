#include "tolaria/run.h"

#include "tolaria/schedule.h"

namespace esper::tolaria {

double current_learning_rate(const Run& run) {
  const auto& training = run.config.training;
  const std::int64_t steps = run.steps_per_epoch();
  return learning_rate(training.optimizer.lr, training.schedule, {steps, steps * run.config.epochs}, run.progress.step);
}

}  // namespace esper::tolaria
