#include "step/seed_rates.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace esper::step {
namespace {

double warm_up(std::int64_t done, std::int64_t steps) {
  return steps > 0 ? std::min(1.0, static_cast<double>(done + 1) / static_cast<double>(steps)) : 1.0;
}

// Of the base rate, without warm-up and scale.
double own_factor(const SeedSchedule& schedule, std::int64_t begin, std::int64_t step) {
  const auto length = static_cast<double>(std::max<std::int64_t>(schedule.length.total_steps - begin, 1));
  const double t = std::min(1.0, static_cast<double>(step - begin) / length);
  const double least = schedule.run.min_factor;
  return least + (1 - least) * 0.5 * (1 + std::cos(std::numbers::pi * t));
}

// A module that the host had from the start is no grown one.
bool is_grown(const kasmina::ParameterGroup& group) { return group.training_epoch > 0; }

}  // namespace

void find_lr_scales(const SeedSchedule& schedule, std::span<const kasmina::ParameterGroup> groups, std::int64_t step,
                    std::vector<double>& scales) {
  const config::SeedScheduleConfig& config = schedule.seed;
  const double of_run = learning_rate(1, schedule.run, schedule.length, step);
  const auto begin_of = [&](const kasmina::ParameterGroup& group) {
    return std::int64_t{group.training_epoch} * schedule.length.steps_per_epoch;
  };
  double rewarm = 1;
  for (const auto& group : groups) {
    if (is_grown(group)) rewarm = std::min(rewarm, warm_up(step - begin_of(group), config.host_rewarm_steps));
  }
  scales.clear();
  for (const auto& group : groups) {
    double scale = group.learns ? 1 : 0;
    if (!is_grown(group)) {
      scale *= rewarm;
    } else {
      scale *= config.scale * warm_up(step - begin_of(group), config.warmup_steps);
      const bool own = config.kind == config::SeedScheduleKind::kCosine;
      if (own) scale = of_run > 0 ? scale * own_factor(schedule, begin_of(group), step) / of_run : 0;
    }
    scales.push_back(scale);
  }
}

void write_lr_scales(StepState& state, std::span<const double> scales) {
  ESPER_CHECK(scales.size() == state.groups.size(), "the state follows another structure");
  for (std::size_t i = 0; i < scales.size(); ++i) state.groups[i].lr_scale.fill_(scales[i]);
}

}  // namespace esper::step
