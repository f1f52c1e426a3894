#include "jobs/queue/job_updates.h"

#include <fmt/core.h>
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
  for (const JobId id : without_hope(store_.database())) doubtful_.insert(id);
}

void JobUpdates::announce(const Job& job) {
  if (is_terminal(job.state) && job.state != JobState::kSucceeded) {
    for (const JobId id : queued_after(store_.database(), job.id)) doubtful_.insert(id);
  } else if (job.state == JobState::kQueued && !job.after.empty()) {
    doubtful_.insert(job.id);
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

// Each that fails makes those doubtful that come after it.
void JobUpdates::fail_hopeless() {
  while (!doubtful_.empty()) {
    const JobId id = *doubtful_.begin();
    auto job = store_.find(id);
    if (job->state == JobState::kQueued && is_without_hope(store_.database(), id)) {
      job->state = JobState::kFailed;
      job->reason = "a job that it comes after did not succeed";
      job->ended_ms = asked_by_daemon(*job).at_ms;
      save(*job);
    }
    doubtful_.erase(id);
  }
}

}  // namespace esper::jobs
