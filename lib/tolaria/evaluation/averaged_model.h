#pragma once
// The averaged model, which validation, trials, counterfactuals and `esper evaluate` measure: averaged parameters with
// batch norm's statistics of these parameters, since those of the live ones normalise another network's features.
// Training thread.

#include <cstdint>

#include "config/run_config.h"
#include "data/loading/loader.h"
#include "step/batch_statistics.h"
#include "step/ema.h"
#include "step/model.h"

namespace esper::tolaria {

// The statistics come from the first training batches of the run's first epoch: this many samples, in whole batches, or
// the whole epoch if it is smaller. Some 10^3 to 10^4 give precise statistics (Wu and Johnson 2021, "Rethinking 'Batch'
// in BatchNorm").
inline constexpr std::int64_t kStatisticsSamples = 1024;

// While it lives the model is the averaged one; then it is, bit for bit, what it was, the default random number
// generators and the loader's place included. It depends on the averages, the seeds' alphas and the configuration
// alone, so a resumed run and `esper evaluate` measure the same. Without batch norm no batch is read; without averages
// nothing is done. A signal ends the reading of batches early.
class AveragedModel {
 public:
  // train: the run's training data, from where statistics are taken.
  AveragedModel(step::Model& model, data::Loader& train, const config::RunConfig& config, torch::Device device);
  AveragedModel(const AveragedModel&) = delete;
  AveragedModel& operator=(const AveragedModel&) = delete;

 private:
  step::EmaScope parameters_;
  step::BatchStatistics statistics_;
};

}  // namespace esper::tolaria
