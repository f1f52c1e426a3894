#pragma once
// How many jobs are in which state, and how a job's state changed since it was seen last. One thread at a time.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/job/job.h"

namespace esper::jobs {

class JobCensus {
 public:
  // All that have not ended.
  explicit JobCensus(const std::vector<std::pair<JobId, JobState>>& unfinished);

  struct Step {
    std::optional<JobState> before;                   // nothing: the job is new, or had ended
    StopPurpose purpose_before = StopPurpose::kNone;  // why it was stopping
    JobState after = JobState::kQueued;
  };
  // Nothing: the job's state is as it was, or it had ended before it was seen.
  std::optional<Step> see(const Job& job);

  // Of jobs that have not ended.
  std::int64_t count(JobState state) const { return counts_.at(static_cast<std::size_t>(state)); }
  // "2 running, 5 queued"; "idle" where there are none.
  std::string text() const;

 private:
  struct Seen {
    JobState state = JobState::kQueued;
    StopPurpose purpose = StopPurpose::kNone;
  };
  std::map<JobId, Seen> seen_;  // that have not ended
  std::array<std::int64_t, names(JobState{}).size()> counts_{};
};

}  // namespace esper::jobs
