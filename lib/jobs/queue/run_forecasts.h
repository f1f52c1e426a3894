#pragma once
// What the run of a job is forecast to take of this machine. On the loop's thread.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/expected.h"
#include "base/quantity.h"
#include "config/facts/run_forecast.h"
#include "config/run_config.h"
#include "jobs/job/job_change.h"
#include "jobs/job/sweep_record.h"
#include "jobs/schedule/observation.h"
#include "jobs/store/job_store.h"
#include "jobs/sweeps/stored_sweeps.h"

namespace esper::jobs {

// How much is done for one sweep, while the loop's thread answers nothing else.
struct ForecastLimits {
  std::size_t forecasts = 1000;                      // about a second
  base::Duration reading = std::chrono::seconds(5);  // of files; one that is being read then is read to its end
};

class RunForecasts {
 public:
  RunForecasts(JobStore& store, StoredSweeps& sweeps, const Observer& observer)
      : store_(store), sweeps_(sweeps), observer_(observer) {}

  // The submission with its forecast and its GPUs. Its configuration has no mistakes. Fails with the reason where it
  // could never begin here.
  base::Expected<Submission> admit(const Submission& submission) const;
  // A sweep that has no mistakes. Of its configurations with the same values of the fields that decide about GPUs and
  // forecast the first one stands for all; beyond the limits, of those with the same kGpuFields, and for GPUs alone
  // where its files were not read. Fails with each that could never begin here, and its values. Returns how many
  // configurations have a forecast that was not made.
  base::Expected<std::int64_t> check_trials(const SweepSubmission& submission, const ForecastLimits& limits = {}) const;
  // The job with the needs and the forecast that the change gives it; nothing where it needs no new forecast, or is not
  // allowed. Fails where it could never begin again here.
  base::Expected<std::optional<Job>> after_change(const Job& job, const JobChange& change) const;
  // For a job that has no forecast yet: trials of a sweep, and jobs of an earlier version's database. What is too large
  // for this machine is no failure: the job waits, for the next daemon may have more.
  static bool is_missing(const Job& job);
  base::Expected<Job> forecast(Job job, const std::string& run_file) const;
  // What the job trains with. Throws base::ConfigError where this version does not take the files of its sweep any
  // more.
  std::string run_file_of(const Job& job) const;

 private:
  base::Expected<Submission> admit(const Submission& submission, const config::RunConfig& config,
                                   const config::RunInputs& inputs) const;

  JobStore& store_;
  StoredSweeps& sweeps_;
  const Observer& observer_;
};

}  // namespace esper::jobs
