#include "jobs/queue/run_forecasts.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/joined.h"
#include "jobs/schedule/admission.h"
#include "jobs/schedule/run_file.h"
#include "jobs/schedule/run_inputs.h"
#include "jobs/sweeps/loaded_sweep.h"
#include "sweep/run_file.h"

namespace esper::jobs {
namespace {

constexpr std::size_t kMostTrialsRefused = 20;  // at once

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

using Values = std::vector<std::string>;
using Field = std::string_view;

bool decides_gpus(Field field) { return std::ranges::count(kGpuFields, field) > 0; }

bool decides_forecast(Field field) {
  return decides_gpus(field) || config::forecast_reads(field) || run_inputs_read(field);
}

Values values_of(const sweep::Configuration& configuration, const LoadedSweep& loaded, bool (*counts)(Field)) {
  Values values;
  for (std::size_t at = 0; at < configuration.size(); ++at)
    if (counts(loaded.sweep.parameters[at].key)) values.push_back(configuration[at]);
  return values;
}

// Configurations that have one forecast.
struct SameForecast {
  const sweep::Configuration* first;
  std::int64_t count;
};

struct GroupedTrials {
  std::vector<SameForecast> groups;
  std::int64_t others = 0;  // configurations in none of them
};

// By their forecasts: the first `most`, and those of further combinations of values of kGpuFields.
GroupedTrials grouped_trials(const LoadedSweep& loaded, std::size_t most) {
  GroupedTrials grouped;
  std::set<Values> by_gpus;
  std::map<Values, std::size_t> by_forecast;  // places in groups
  for (const auto& configuration : loaded.configurations) {
    Values values = values_of(configuration, loaded, decides_forecast);
    if (const auto found = by_forecast.find(values); found != by_forecast.end()) {
      ++grouped.groups[found->second].count;
      continue;
    }
    const bool is_new_on_gpus = by_gpus.insert(values_of(configuration, loaded, decides_gpus)).second;
    if (grouped.groups.size() >= most && !is_new_on_gpus) {
      ++grouped.others;
      continue;
    }
    by_forecast.emplace(std::move(values), grouped.groups.size());
    grouped.groups.push_back({&configuration, 1});
  }
  return grouped;
}

}  // namespace

std::string RunForecasts::run_file_of(const Job& job) const {
  return job.sweep == 0 ? store_.config_of(job.id) : sweeps_.run_file_of(job);
}

base::Expected<Submission> RunForecasts::admit(const Submission& submission) const {
  const config::RunConfig& config = read_run_file(submission.config).config;
  return admit(submission, config, run_inputs(config, submission.folder));
}

base::Expected<Submission> RunForecasts::admit(const Submission& submission, const config::RunConfig& config,
                                               const config::RunInputs& inputs) const {
  const std::string& run_dir = submission.run_dir.empty() ? submission.runs_dir : submission.run_dir;
  return jobs::admit(submission, config, inputs, observer_.capacity(), observer_.whole_disk(run_dir));
}

base::Expected<std::int64_t> RunForecasts::check_trials(const SweepSubmission& submission,
                                                        const ForecastLimits& limits) const {
  const LoadedSweep loaded = load_sweep(submission.sweep, submission.run_file);
  Submission trial{.folder = submission.folder, .runs_dir = submission.runs_dir};
  trial.needs.gpus = submission.gpus;
  trial.needs.memory_bytes = submission.memory_bytes;
  FileFacts files(limits.reading);
  std::set<Values> known;  // reasons, each with its GPUs
  std::vector<std::string> reasons;
  const GroupedTrials grouped = grouped_trials(loaded, limits.forecasts);
  std::int64_t not_forecast = grouped.others;
  for (const auto& [first, count] : grouped.groups) {
    const auto assignments = sweep::assignments_of(loaded.sweep, *first);
    const auto run_file = sweep::read_with(loaded.sweep, assignments);
    if (!run_file.problems.empty()) continue;  // one that was not checked: its jobs will say so
    const auto inputs = run_inputs(run_file.config, submission.folder, files);
    if (!inputs) not_forecast += count;
    const auto admitted = admit(trial, run_file.config, inputs.value_or(config::RunInputs{}));
    if (admitted) continue;
    Values reason = values_of(*first, loaded, decides_gpus);
    reason.push_back(admitted.error());
    if (known.insert(std::move(reason)).second)
      reasons.push_back(admitted.error() + " (with " + base::joined(assignments) + ")");
    if (reasons.size() == kMostTrialsRefused) break;
  }
  if (!reasons.empty()) return base::failure(base::joined(reasons, "; "));
  return not_forecast;
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
