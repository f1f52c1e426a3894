#pragma once
// How often the start of each job has failed in a row, and what follows from it. One thread.

#include <cstdint>
#include <map>

#include "base/quantity.h"
#include "jobs/job/attempt_end.h"

namespace esper::jobs {

class FailedStarts {
 public:
  explicit FailedStarts(RestartRules rules) : rules_(rules) {}

  // The end of a job's attempt, as it is to be settled: the last one in a row that is allowed fails the job, where what
  // fails them may stay.
  AttemptEnd limited(const Job& job, AttemptEnd end) const;
  // Counts an end that was settled. How long the job waits before it is started again: doubles with each start in a row
  // that failed; else by its interruptions.
  base::Duration delay_after(const Job& job, const AttemptEnd& end);

 private:
  const RestartRules rules_;
  std::map<JobId, std::int64_t> in_a_row_;
};

}  // namespace esper::jobs
