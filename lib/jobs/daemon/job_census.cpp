#include "jobs/daemon/job_census.h"

#include <fmt/core.h>

#include "jobs/job/job_states.h"

namespace esper::jobs {

JobCensus::JobCensus(const std::vector<std::pair<JobId, JobState>>& unfinished) {
  for (const auto& [id, state] : unfinished) {
    seen_[id] = {.state = state};
    ++counts_.at(static_cast<std::size_t>(state));
  }
}

std::optional<JobCensus::Step> JobCensus::see(const Job& job) {
  const auto known = seen_.find(job.id);
  const bool has_ended = is_terminal(job.state);
  if (known == seen_.end() && has_ended) return std::nullopt;
  Step step{.before = {}, .after = job.state};
  if (known != seen_.end()) {
    step.before = known->second.state;
    step.purpose_before = known->second.purpose;
    --counts_.at(static_cast<std::size_t>(known->second.state));
  }
  if (has_ended) {
    seen_.erase(known);
  } else {
    seen_[job.id] = {job.state, job.purpose};
    ++counts_.at(static_cast<std::size_t>(job.state));
  }
  return step.before == step.after ? std::nullopt : std::optional(step);
}

std::string JobCensus::text() const {
  std::string text;
  for (const auto& [state, name] : names(JobState{})) {
    if (count(state) > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count(state), name);
  }
  return text.empty() ? "idle" : text;
}

}  // namespace esper::jobs
