#include "jobs/queue/failed_starts.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

namespace esper::jobs {
namespace {

constexpr base::Duration kAfterFailedStart = std::chrono::seconds(1);

}  // namespace

AttemptEnd FailedStarts::limited(const Job& job, AttemptEnd end) const {
  const auto before = in_a_row_.find(job.id);
  const auto count = 1 + (before == in_a_row_.end() ? 0 : before->second);
  if (!end.may_stay || count < rules_.most_failed_starts) return end;
  end.never_began = false;
  end.problem = fmt::format("could not be started {} times in a row: {}", count, end.problem);
  end.checkpoint = job.checkpoint;
  return end;
}

base::Duration FailedStarts::delay_after(const Job& job, const AttemptEnd& end) {
  if (!end.never_began || end.problem.empty()) {
    in_a_row_.erase(job.id);
    return restart_delay(job, rules_);
  }
  const auto doublings = std::min<std::int64_t>(in_a_row_[job.id]++, 20);
  return std::min(kAfterFailedStart * (std::int64_t{1} << doublings), rules_.longest_delay);
}

}  // namespace esper::jobs
