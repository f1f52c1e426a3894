#pragma once
// The constants of a run in this process. Any thread; but the fields that may change while a run trains
// (config/loading/live_settings.h) are the training thread's, and constant for an epoch (live_changes.h).

#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/run_config.h"
#include "step/rates/schedule.h"
#include "tolaria/state/run_progress.h"

namespace esper::tolaria {

struct RunFacts {
  config::RunConfig config;
  std::string run_id;         // names the run in telemetry
  std::string training_hash;  // names the training in checkpoints: TrainingIdentity::text()
  torch::Device device;
  std::int64_t batches_per_epoch = 0;                     // in microbatches
  std::string reason_of_source = {};                      // of where batches come from; empty: the run file says it
  std::int64_t skipped_samples = 0;                       // that could not be read
  std::string first_skipped = {};                         // the first of them: its place, and why
  std::vector<std::string> classes_without_samples = {};  // that no training sample has
  std::int64_t num_classes = 0;                           // of a classifier; 0: of another task
  std::string preprocessing = {};  // text of data::Preprocessing, which checkpoints keep; empty: none
  std::string computed_on = {};    // device::numerics_of()
  base::Clock clock{};
  base::Duration started{};  // of this process, monotonic

  // Of so many microbatches of an epoch.
  std::int64_t steps_of(std::int64_t batches) const {
    return (batches + config.step.accumulation - 1) / config.step.accumulation;
  }
  std::int64_t steps_per_epoch() const { return steps_of(batches_per_epoch); }
  // The first step after the epoch that the run is in.
  std::int64_t epoch_end(const RunProgress& progress) const {
    return progress.step - steps_of(progress.batch) + steps_per_epoch();
  }
  step::RunLength length() const { return {steps_per_epoch(), steps_per_epoch() * config.epochs}; }
  // The place of a step of the run, from 0.
  double learning_rate(std::int64_t step) const;
  // Time spent on the run in all processes so far.
  double wall_s(const RunProgress& progress) const {
    return progress.wall_s + std::chrono::duration<double>(clock.now() - started).count();
  }
};

}  // namespace esper::tolaria
