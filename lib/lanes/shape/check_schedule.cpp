#include "lanes/shape/check_schedule.h"

#include <algorithm>
#include <limits>

namespace esper::lanes {

std::int64_t CheckSchedule::next_interval_after(std::int64_t number) const {
  const std::int64_t every = config_.check_every;
  return every > 0 ? (number / every + 1) * every : std::numeric_limits<std::int64_t>::max();
}

std::int64_t CheckSchedule::next_after(std::int64_t number) const {
  const std::int64_t next = next_interval_after(number);
  const auto compared = std::ranges::upper_bound(compared_steps_, number);
  return compared == compared_steps_.end() ? next : std::min(next, *compared);
}

}  // namespace esper::lanes
