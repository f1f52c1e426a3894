#include "jobs/job/job_change.h"

#include <fmt/core.h>

#include "base/text/joined.h"
#include "jobs/job/job_states.h"

namespace esper::jobs {
namespace {

// One that ended before it ran, as where it was cancelled, has not: it can be changed, and then retried.
bool has_begun(const Job& job) { return job.attempts > 0 || is_active(job.state); }

}  // namespace

std::string why_not(const Job& job, const JobChange& change) {
  const auto state = base::name_of(job.state);
  const bool other_than_name = change != JobChange{.name = change.name};
  if (job.state == JobState::kSucceeded && other_than_name)
    return fmt::format("job {} has {}: only its name can be changed", job.id, state);
  if (change.config && job.sweep != 0)
    return fmt::format("job {} belongs to sweep {}: its run file follows from the sweep file", job.id, job.sweep);
  if (!has_begun(job)) return "";
  if (change.config) {
    return fmt::format(
        "job {} is {} and has started: its run file cannot change; esper job set changes settings from an epoch on",
        job.id, state);
  }
  if (change.after) return fmt::format("job {} is {} and has started: it does not wait for other jobs", job.id, state);
  return "";
}

bool changes_forecast(const JobChange& change) { return change.config || change.gpus; }

Job changed(Job job, const JobChange& change) {
  if (changes_forecast(change) && !is_active(job.state)) job.forecast = {};
  if (change.config) job.needs.gpus = kGpusByDevice;
  job.name = change.name.value_or(job.name);
  job.priority = change.priority.value_or(job.priority);
  if (change.after) job.after = change.after->ids;
  job.needs.threads = change.threads.value_or(job.needs.threads);
  job.needs.memory_bytes = change.memory_bytes.value_or(job.needs.memory_bytes);
  job.needs.gpus = change.gpus.value_or(job.needs.gpus);
  return job;
}

std::string summary_of(const JobChange& change) {
  std::vector<std::string> parts;
  const auto add = [&](const char* field, const std::optional<std::int64_t>& number) {
    if (number) parts.push_back(fmt::format("{} {}", field, *number));
  };
  if (change.name) parts.push_back("name " + *change.name);
  add("priority", change.priority);
  if (change.after)
    parts.push_back("after " + (change.after->ids.empty() ? "nothing" : base::joined(change.after->ids, " ")));
  add("threads", change.threads);
  add("memory_bytes", change.memory_bytes);
  add("gpus", change.gpus);
  if (change.config) parts.emplace_back("run file");
  return base::joined(parts);
}

}  // namespace esper::jobs
