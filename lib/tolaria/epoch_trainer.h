#pragma once
// Trains an epoch, step by step, in the lane that suits each step. Training thread.

#include <optional>
#include <vector>

#include "lanes/step_runner.h"
#include "tolaria/run/batch_source.h"
#include "tolaria/run/run.h"
#include "tolaria/run/trained_epoch.h"

namespace esper::tolaria {

class EpochTrainer {
 public:
  explicit EpochTrainer(Run& run);
  EpochTrainer(const EpochTrainer&) = delete;
  EpochTrainer& operator=(const EpochTrainer&) = delete;

  // From the run's cursor to the end of the epoch, saving where that is due. Nothing where a signal came in between.
  std::optional<TrainedEpoch> train();

  // After the network may have changed.
  void take_structure() { runner_.take_structure(run_.progress.step); }
  // Some work on the steps of structures that may come next. At the end of an epoch.
  void prepare_structures();

 private:
  void train_step(const std::vector<step::Microbatch>& microbatches);
  std::int64_t steps_left(const std::vector<step::Microbatch>& microbatches) const;
  void advance_cursor(const std::vector<step::Microbatch>& microbatches);

  Run& run_;
  lanes::StepRunner runner_;
  BatchSource batches_;
};

}  // namespace esper::tolaria
