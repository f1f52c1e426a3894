#pragma once
// A submitted sweep becomes rows of the database: its own, and a held job for each configuration and seed. One thread.

#include <vector>

#include "jobs/job/sweep_record.h"
#include "jobs/store/job_store.h"

namespace esper::jobs {

struct ExpandedSweep {
  SweepId id = 0;
  std::vector<JobId> jobs{};  // configuration by configuration and seed by seed
};

// Within the caller's transaction. `submission` is one that was checked: throws base::ConfigError where it has
// mistakes. Throws DatabaseError.
ExpandedSweep expand_into(JobStore& jobs, const SweepSubmission& submission, const Asked& asked);

}  // namespace esper::jobs
