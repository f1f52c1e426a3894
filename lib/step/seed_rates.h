#pragma once
// Learning rates of the groups where growth.seed_schedule gives seeds their own. Written before a step into the groups'
// learning-rate scales. Training thread.

#include <cstdint>
#include <span>
#include <vector>

#include "config/growth_config.h"
#include "kasmina/tensor/parameter_group.h"
#include "step/rates/schedule.h"
#include "step/step_state.h"

namespace esper::step {

// f: the run's schedule at a step, f = learning_rate(1, ...). A seed that began to train at step b has at step s the
// rate of the run times
//
//   scale * warm-up(s - b) * own(s) / f(s)
//   warm-up(n) = min(1, (n + 1) / warmup_steps)
//   own: f for kind run; for cosine min_factor + (1 - min_factor) (1 + cos(pi (s - b) / (total_steps - b))) / 2
//
// and all other parameters the rate of the run times the smallest min(1, (s - b + 1) / host_rewarm_steps) over seeds.
struct SeedSchedule {
  const config::SeedScheduleConfig& seed;
  const config::ScheduleConfig& run;
  RunLength length;

  bool is_default() const { return seed == config::SeedScheduleConfig{}; }
};

// Per group, in order, for the step. A group that must not learn has 0. scales: overwritten; its memory is reused.
void find_lr_scales(const SeedSchedule& schedule, std::span<const kasmina::ParameterGroup> groups, std::int64_t step,
                    std::vector<double>& scales);

// groups: the network's, parallel to the state's. Not a read of the device.
void write_lr_scales(StepState& state, std::span<const double> scales);

}  // namespace esper::step
