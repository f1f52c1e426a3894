#pragma once
// What the run of a job is forecast to take of this machine. On the loop's thread.

#include <optional>
#include <string>

#include "base/expected.h"
#include "jobs/job/job_change.h"
#include "jobs/schedule/observation.h"
#include "jobs/store/job_store.h"
#include "jobs/sweeps/stored_sweeps.h"

namespace esper::jobs {

class RunForecasts {
 public:
  RunForecasts(JobStore& store, StoredSweeps& sweeps, const Observer& observer)
      : store_(store), sweeps_(sweeps), observer_(observer) {}

  // The submission with its forecast and its GPUs. Its configuration has no mistakes. Fails with the reason where it
  // could never begin here.
  base::Expected<Submission> admit(const Submission& submission) const;
  // The job with the needs and the forecast that the change gives it; nothing where it needs no new forecast, or is not
  // allowed. Fails where it could never begin again here.
  base::Expected<std::optional<Job>> after_change(const Job& job, const JobChange& change) const;
  // For a job that has no forecast yet: trials of a sweep, and jobs of an earlier version's database. What is too large
  // for this machine is no failure: the job waits, for the next daemon may have more.
  static bool is_missing(const Job& job);
  base::Expected<Job> forecast(Job job, const std::string& run_file) const;
  // What jobs may have of the machine.
  const Observer& observer() const { return observer_; }
  // What the job trains with. Throws base::ConfigError where this version does not take the files of its sweep any
  // more.
  std::string run_file_of(const Job& job) const;

 private:
  JobStore& store_;
  StoredSweeps& sweeps_;
  const Observer& observer_;
};

}  // namespace esper::jobs
