#include "jobs/queue/job_updates.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include "base/names.h"
#include "jobs/job/job_states.h"
#include "jobs/store/dependencies.h"
#include "nissa/log.h"

namespace esper::jobs {
namespace {

Asked asked_by_daemon(const Job& job) { return asked_now(static_cast<std::int64_t>(::getuid()), "daemon", job.reason); }

}  // namespace

void JobUpdates::recover() {
  for (const JobId id : with_failed_dependency(store_.database())) to_check_.insert(id);
}

void JobUpdates::announce(const Job& job) {
  const bool is_left_by_sweep = job.state == JobState::kPaused && job.ended_ms > 0;
  if ((is_terminal(job.state) && job.state != JobState::kSucceeded) || is_left_by_sweep) {
    for (const JobId id : queued_after(store_.database(), job.id)) to_check_.insert(id);
  } else if (job.state == JobState::kQueued && !job.after.empty()) {
    to_check_.insert(job.id);
  }
  if (job.sweep != 0 && !is_active(job.state)) sweeps_.touch(job.sweep);
  changed_(job);
}

void JobUpdates::save(const Job& job, const std::optional<Asked>& asked) {
  store_.save(job, asked.value_or(asked_by_daemon(job)));
  announce(job);
}

Job JobUpdates::save_end(Job job, const AttemptEnd& end, const RestartRules& rules) {
  const StopPurpose purpose = job.purpose;
  settle(job, end, rules);
  const Asked asked = asked_by_daemon(job);
  if (is_terminal(job.state)) job.ended_ms = asked.at_ms;
  if (job.sweep != 0) {
    sweeps_.save_end(job, purpose, asked);
  } else {
    store_.save(job, asked);
  }
  announce(job);
  nissa::log::info(fmt::format("job {} is {}: {}", job.id, base::name_of(job.state), job.reason));
  return job;
}

// Each that fails adds those that come after it.
void JobUpdates::fail_dependents() {
  while (!to_check_.empty()) {
    const JobId id = *to_check_.begin();
    auto job = store_.find(id);
    const auto unsuccessful = unsuccessful_before(store_.database(), id);
    if (job->state == JobState::kQueued && !unsuccessful.empty()) {
      job->state = JobState::kFailed;
      job->reason = fmt::format("comes after {} that did not succeed: {}", unsuccessful.size() == 1 ? "a job" : "jobs",
                                fmt::join(unsuccessful, ", "));
      job->ended_ms = asked_by_daemon(*job).at_ms;
      save(*job);
    }
    to_check_.erase(id);
  }
}

}  // namespace esper::jobs
