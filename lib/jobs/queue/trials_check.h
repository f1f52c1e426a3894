#pragma once
// Whether the trials of a submitted sweep could begin on this machine: one forecast at a time, so that the loop's
// thread answers others in between. On the loop's thread.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/expected.h"
#include "base/quantity.h"
#include "jobs/job/sweep_record.h"
#include "jobs/schedule/file_facts.h"
#include "jobs/schedule/observation.h"
#include "jobs/sweeps/loaded_sweep.h"

namespace esper::jobs {

// How much is done for one sweep.
struct ForecastLimits {
  std::size_t forecasts = 1000;                      // about a second
  base::Duration reading = std::chrono::seconds(5);  // of files; one that is being read then is read to its end
};

// Of its configurations with the same values of the fields that decide about GPUs and forecast the first one stands for
// all; beyond the limits, of those with the same kGpuFields, and for GPUs alone where its files were not read.
class TrialsCheck {
 public:
  // A sweep that has no mistakes. The observer outlives this object.
  TrialsCheck(const SweepSubmission& submission, const Observer& observer, const ForecastLimits& limits = {});
  TrialsCheck(const TrialsCheck&) = delete;
  TrialsCheck& operator=(const TrialsCheck&) = delete;

  bool is_done() const;
  // Makes the next forecast.
  void advance();
  // Once it is done: how many configurations have a forecast that was not made. Fails with each configuration that
  // could never begin here, and its values.
  base::Expected<std::int64_t> result() const;

 private:
  using Values = std::vector<std::string>;
  // Configurations that have one forecast.
  struct SameForecast {
    const sweep::Configuration* first;
    std::int64_t count;
  };

  void group(std::size_t most);
  void refuse(const sweep::Configuration& first, const std::vector<std::string>& assignments,
              const std::string& reason);

  const LoadedSweep loaded_;
  const Observer& observer_;
  Submission trial_;
  std::int64_t disk_bytes_ = 0;  // as jobs::admit() takes it
  FileFacts files_;
  std::vector<SameForecast> groups_;
  std::size_t next_ = 0;  // place in groups_
  std::int64_t not_forecast_ = 0;
  std::set<Values> known_;  // reasons, each with its GPUs
  std::vector<std::string> reasons_;
};

}  // namespace esper::jobs
