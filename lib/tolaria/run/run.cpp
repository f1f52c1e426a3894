#include "tolaria/run/run.h"

#include <algorithm>

#include "step/schedule.h"

namespace esper::tolaria {

using step::learning_rate;

namespace {

double learning_rate_of_step(const Run& run, std::int64_t step) {
  const auto& training = run.config.training;
  const std::int64_t steps = run.steps_per_epoch();
  return learning_rate(training.optimizer.lr, training.schedule, {steps, steps * run.config.epochs}, step);
}

}  // namespace

CheckpointInfo state_of(const Run& run) { return {run.progress.step, run.progress.epoch, run.training_hash}; }

double next_learning_rate(const Run& run) { return learning_rate_of_step(run, run.progress.step); }

double last_learning_rate(const Run& run) {
  return learning_rate_of_step(run, std::max<std::int64_t>(run.progress.step - 1, 0));
}

}  // namespace esper::tolaria
