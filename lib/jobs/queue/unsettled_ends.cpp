#include "jobs/queue/unsettled_ends.h"

#include <fmt/core.h>

#include "base/file_system.h"
#include "jobs/job/job_states.h"
#include "nissa/log.h"

namespace esper::jobs {

bool UnsettledEnds::settle() {
  for (auto next = ends_.begin(); next != ends_.end();) {
    try {
      settle_one(next->first, next->second);
      unread_results_.erase(next->first);
      next = ends_.erase(next);
    } catch (const base::IoError& error) {
      if (unread_results_.insert(next->first).second)
        nissa::log::warning(
            fmt::format("job {}: the outcome of its run cannot be read now: {}; tried again each second", next->first,
                        error.what()));
      ++next;
    }
  }
  return ends_.empty();
}

void UnsettledEnds::settle_one(JobId id, const AttemptEnd& seen) {
  const Job before = *store_.find(id);
  if (!is_active(before.state) && before.state != JobState::kQueued) return;  // its user was faster
  const AttemptEnd end = failed_starts_.limited(before, seen);
  const Job job = updates_.save_end(before, end, rules_);
  const auto delay = failed_starts_.delay_after(job, end);
  if (job.state == JobState::kQueued && before.purpose == StopPurpose::kNone) scheduler_.delay(job, delay);
}

}  // namespace esper::jobs
