#include "jobs/queue/run_forecasts.h"

#include <utility>

#include "jobs/schedule/admission.h"
#include "jobs/schedule/run_file.h"
#include "jobs/schedule/run_inputs.h"

namespace esper::jobs {
namespace {

Submission submission_of(const Job& job, const std::string& run_file) {
  Submission submission;
  submission.config = run_file;
  submission.folder = job.folder;
  submission.run_dir = job.run_dir;
  submission.needs = job.needs;
  return submission;
}

Job with_forecast_of(const Submission& submission, Job job) {
  job.needs = submission.needs;
  job.forecast = submission.forecast;
  return job;
}

}  // namespace

std::string RunForecasts::run_file_of(const Job& job) const {
  return job.sweep == 0 ? store_.config_of(job.id) : sweeps_.run_file_of(job);
}

base::Expected<Submission> RunForecasts::admit(const Submission& submission) const {
  const config::RunConfig& config = read_run_file(submission.config).config;
  const std::string& run_dir = submission.run_dir.empty() ? submission.runs_dir : submission.run_dir;
  return jobs::admit(submission, config, run_inputs(config, submission.folder), observer_.capacity(),
                     observer_.whole_disk(run_dir));
}

base::Expected<std::optional<Job>> RunForecasts::after_change(const Job& job, const JobChange& change) const {
  const bool may_not_fit = changes_forecast(change) || change.memory_bytes;
  if (!may_not_fit || !why_not(job, change).empty()) return std::optional<Job>();
  Job after = changed(job, change);
  // Made again, the forecast would take GPUs that follow from the run file for declared ones.
  if (!changes_forecast(change) && !is_missing(job)) {
    const auto fits = check_fits(after, observer_.capacity(), observer_.whole_disk(after.run_dir));
    if (!fits) return base::failure(fits.error());
    return std::optional<Job>();
  }
  const auto admitted = admit(submission_of(after, change.config ? *change.config : run_file_of(job)));
  if (!admitted) return base::failure(admitted.error());
  return std::optional(with_forecast_of(*admitted, std::move(after)));
}

bool RunForecasts::is_missing(const Job& job) { return job.forecast == config::RunForecast{}; }

base::Expected<Job> RunForecasts::forecast(Job job, const std::string& run_file) const {
  const config::RunConfig& config = read_run_file(run_file).config;
  const auto forecast =
      with_forecast(submission_of(job, run_file), config, run_inputs(config, job.folder), observer_.capacity());
  if (!forecast) return base::failure(forecast.error());
  return with_forecast_of(*forecast, std::move(job));
}

}  // namespace esper::jobs
