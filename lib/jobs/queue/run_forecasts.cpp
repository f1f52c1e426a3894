#include "jobs/queue/run_forecasts.h"

#include "jobs/schedule/admission.h"
#include "jobs/schedule/run_file.h"
#include "jobs/schedule/run_inputs.h"

namespace esper::jobs {

std::string RunForecasts::run_file_of(const Job& job) const {
  return job.sweep == 0 ? store_.config_of(job.id) : sweeps_.run_file_of(job);
}

base::Expected<Submission> RunForecasts::admit(const Submission& submission) const {
  const config::RunConfig& config = read_run_file(submission.config).config;
  const std::string& run_dir = submission.run_dir.empty() ? submission.runs_dir : submission.run_dir;
  return jobs::admit(submission, config, run_inputs(config, submission.folder), observer_.capacity(),
                     observer_.whole_disk(run_dir));
}

bool RunForecasts::is_missing(const Job& job) { return job.forecast == config::RunForecast{}; }

base::Expected<Job> RunForecasts::forecast(Job job, const std::string& run_file) const {
  Submission submission;
  submission.config = run_file;
  submission.folder = job.folder;
  submission.run_dir = job.run_dir;
  submission.needs = job.needs;
  const auto admitted = admit(submission);
  if (!admitted) return base::failure(admitted.error());
  job.needs = admitted->needs;
  job.forecast = admitted->forecast;
  return job;
}

}  // namespace esper::jobs
