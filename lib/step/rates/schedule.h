#pragma once
// The learning rate as a pure function of the step: nothing to save, nothing to restore. Any thread.

#include <cstdint>

#include "config/training_config.h"

namespace esper::step {

struct RunLength {
  std::int64_t steps_per_epoch = 1;
  std::int64_t total_steps = 1;
};

// lr(step) = base * warm-up(step) * factor(step), step from 0.
//   warm-up: (step + 1) / warmup_steps, at most 1
//   constant: 1
//   cosine:   min_factor + (1 - min_factor) * (1 + cos(pi * t)) / 2, t from 0 at the end of the warm-up to 1 at
//             total_steps (of the schedule, else of the run), then flat
//   step:     gamma ^ (epoch / step_epochs), epoch = step / steps_per_epoch, both divisions rounded down
double learning_rate(double base, const config::ScheduleConfig& schedule, const RunLength& run, std::int64_t step);

}  // namespace esper::step
