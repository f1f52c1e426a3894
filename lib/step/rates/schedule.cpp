#include "step/rates/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace esper::step {
namespace {

using config::ScheduleConfig;
using config::ScheduleKind;

double cosine_factor(const ScheduleConfig& schedule, const RunLength& run, std::int64_t step) {
  const std::int64_t end = schedule.total_steps > 0 ? schedule.total_steps : run.total_steps;
  const std::int64_t length = std::max<std::int64_t>(end - schedule.warmup_steps, 1);
  const std::int64_t done = std::clamp<std::int64_t>(step - schedule.warmup_steps, 0, length);
  const double t = static_cast<double>(done) / static_cast<double>(length);
  return schedule.min_factor + (1 - schedule.min_factor) * 0.5 * (1 + std::cos(std::numbers::pi * t));
}

double step_factor(const ScheduleConfig& schedule, const RunLength& run, std::int64_t step) {
  const std::int64_t epoch = step / std::max<std::int64_t>(run.steps_per_epoch, 1);
  return std::pow(schedule.gamma, static_cast<double>(epoch / schedule.step_epochs));
}

double factor(const ScheduleConfig& schedule, const RunLength& run, std::int64_t step) {
  switch (schedule.kind) {
    case ScheduleKind::kConstant:
      return 1;
    case ScheduleKind::kCosine:
      return cosine_factor(schedule, run, step);
    case ScheduleKind::kStep:
      return step_factor(schedule, run, step);
  }
  return 1;
}

}  // namespace

double learning_rate(double base, const ScheduleConfig& schedule, const RunLength& run, std::int64_t step) {
  double warmup = 1;
  if (step < schedule.warmup_steps) {
    warmup = static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps);
  }
  return base * warmup * factor(schedule, run, step);
}

}  // namespace esper::step
