#pragma once
// The averaged model, which validation, trials, counterfactuals and `esper evaluate` measure: averaged parameters with
// batch norm's statistics of these parameters, since those of the live ones normalise another network's features.
// Training thread.

#include <chrono>
#include <cstdint>
#include <vector>

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

// A run whose last step is trained saves them with its last checkpoint or never: how long after a signal their batches
// are still read there. Who stops it may wait for ten seconds alone.
inline constexpr auto kStatisticsAfterSignal = std::chrono::seconds(5);

// While it lives the model is the averaged one; then it is, bit for bit, what it was, the default random number
// generators and the loader's place included. It depends on the averages, the seeds' alphas and the configuration
// alone, so a resumed run and `esper evaluate` measure the same. Without batch norm no batch is read; without averages
// nothing is done. A signal ends the reading of batches early, once it was after_signal ago.
class AveragedModel {
 public:
  // train: the run's training data, from where statistics are taken.
  AveragedModel(step::Model& model, data::Loader& train, const config::RunConfig& config, torch::Device device,
                std::chrono::nanoseconds after_signal = {});
  // saved: a checkpoint's tensors, with the statistics among them. Throws Error{kCheckpoint} where they are missing or
  // do not fit.
  AveragedModel(step::Model& model, const std::vector<kasmina::NamedTensor>& saved);
  AveragedModel(const AveragedModel&) = delete;
  AveragedModel& operator=(const AveragedModel&) = delete;

  // Copies of the statistics, under the ids that they have in a checkpoint (step::kAveragedTensors).
  std::vector<kasmina::NamedTensor> statistics() const;

 private:
  step::EmaScope parameters_;
  step::BatchStatistics statistics_;
};

// Whether a prediction needs statistics besides what the model itself holds.
bool needs_averaged_statistics(const step::Model& model);

// The statistics of a model that needs some, under the ids that they have in a checkpoint. Empty where a signal came
// after_signal ago, or a figure is not finite. Throws Error{kData} where the training data cannot be read.
std::vector<kasmina::NamedTensor> compute_averaged_statistics(step::Model& model, data::Loader& train,
                                                              const config::RunConfig& config, torch::Device device,
                                                              std::chrono::nanoseconds after_signal = {});
// What a checkpoint keeps, so that the model can be used without its training data. Empty where nothing is needed or
// the training data cannot be read, and as compute_averaged_statistics().
std::vector<kasmina::NamedTensor> averaged_statistics(step::Model& model, data::Loader& train,
                                                      const config::RunConfig& config, torch::Device device,
                                                      std::chrono::nanoseconds after_signal = {});

}  // namespace esper::tolaria
