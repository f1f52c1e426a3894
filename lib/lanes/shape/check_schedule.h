#pragma once
// The steps in which the lanes in use are compared with eager. Training thread.
//
// The run's steps are divided into intervals of step.check_every; each shape is compared at its first step in an
// interval, however rare the shape is. Intervals are counted from the run's start, or from the last recorded change of
// bits, so that a resumed run compares at the same steps.

#include <cstdint>
#include <utility>
#include <vector>

#include "config/step_config.h"

namespace esper::lanes {

class CheckSchedule {
 public:
  // The configuration must outlive it.
  explicit CheckSchedule(const config::StepConfig& config) : config_(config) {}

  // Further steps for a comparison, ascending.
  void compare_at(std::vector<std::int64_t> steps) { compared_steps_ = std::move(steps); }
  // Whether one of them is after this one.
  bool is_comparison_ahead(std::int64_t number) const {
    return !compared_steps_.empty() && compared_steps_.back() > number;
  }
  // From which step on a lane is compared that agrees with eager up to `number`, or starts there.
  std::int64_t next_after(std::int64_t number) const;
  // The same by the intervals alone.
  std::int64_t next_interval_after(std::int64_t number) const;

 private:
  const config::StepConfig& config_;
  std::vector<std::int64_t> compared_steps_;
};

}  // namespace esper::lanes
