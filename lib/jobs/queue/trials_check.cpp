#include "jobs/queue/trials_check.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/text/joined.h"
#include "config/facts/run_forecast.h"
#include "jobs/schedule/admission.h"
#include "jobs/schedule/run_inputs.h"
#include "sweep/run_file.h"

namespace esper::jobs {
namespace {

constexpr std::size_t kMostTrialsRefused = 20;  // at once

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

Submission trial_of(const SweepSubmission& submission) {
  Submission trial{.folder = submission.folder, .runs_dir = submission.runs_dir};
  trial.needs.gpus = submission.gpus;
  trial.needs.memory_bytes = submission.memory_bytes;
  return trial;
}

}  // namespace

TrialsCheck::TrialsCheck(const SweepSubmission& submission, const Observer& observer, const ForecastLimits& limits)
    : loaded_(load_sweep(submission.sweep, submission.run_file)),
      observer_(observer),
      trial_(trial_of(submission)),
      disk_bytes_(observer.whole_disk(submission.runs_dir)),
      files_(limits.reading) {
  group(limits.forecasts);
}

// By their forecasts: the first `most`, and those of further combinations of values of kGpuFields.
void TrialsCheck::group(std::size_t most) {
  std::set<Values> by_gpus;
  std::map<Values, std::size_t> by_forecast;  // places in groups_
  for (const auto& configuration : loaded_.configurations) {
    Values values = values_of(configuration, loaded_, decides_forecast);
    if (const auto found = by_forecast.find(values); found != by_forecast.end()) {
      ++groups_[found->second].count;
      continue;
    }
    const bool is_new_on_gpus = by_gpus.insert(values_of(configuration, loaded_, decides_gpus)).second;
    if (groups_.size() >= most && !is_new_on_gpus) {
      ++not_forecast_;
      continue;
    }
    by_forecast.emplace(std::move(values), groups_.size());
    groups_.push_back({&configuration, 1});
  }
}

bool TrialsCheck::is_done() const { return next_ == groups_.size() || reasons_.size() == kMostTrialsRefused; }

void TrialsCheck::advance() {
  const auto& [first, count] = groups_[next_++];
  const auto assignments = sweep::assignments_of(loaded_.sweep, *first);
  const auto run_file = sweep::read_with(loaded_.sweep, assignments);
  if (!run_file.problems.empty()) return;  // one that was not checked: its jobs will say so
  const auto inputs = run_inputs(run_file.config, trial_.folder, files_);
  if (!inputs) not_forecast_ += count;
  const auto admitted =
      admit(trial_, run_file.config, inputs.value_or(config::RunInputs{}), observer_.capacity(), disk_bytes_);
  if (!admitted) refuse(*first, assignments, admitted.error());
}

void TrialsCheck::refuse(const sweep::Configuration& first, const std::vector<std::string>& assignments,
                         const std::string& reason) {
  Values known = values_of(first, loaded_, decides_gpus);
  known.push_back(reason);
  if (known_.insert(std::move(known)).second) reasons_.push_back(reason + " (with " + base::joined(assignments) + ")");
}

base::Expected<std::int64_t> TrialsCheck::result() const {
  if (!reasons_.empty()) return base::failure(base::joined(reasons_, "; "));
  return not_forecast_;
}

}  // namespace esper::jobs
