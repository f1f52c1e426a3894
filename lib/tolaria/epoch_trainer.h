#pragma once
// Trains an epoch step by step, each step in the lane that suits it. Training thread.

#include <optional>
#include <vector>

#include "lanes/step_runner.h"
#include "tolaria/run/batch_source.h"
#include "tolaria/run/run.h"
#include "tolaria/run/step_setup.h"
#include "tolaria/run/trained_epoch.h"

namespace esper::tolaria {

class EpochTrainer {
 public:
  explicit EpochTrainer(Run& run);
  EpochTrainer(const EpochTrainer&) = delete;
  EpochTrainer& operator=(const EpochTrainer&) = delete;

  // Trains from the run's cursor to the end of the epoch, and saves when due. Empty if a signal interrupted it.
  std::optional<TrainedEpoch> train();

  // Call after the network may have changed.
  void take_structure() { runner_.take_structure(run_.progress.step); }
  // At the end of an epoch: a limited amount of work on the steps of structures that may come next.
  void prepare_structures();

 private:
  void train_step(const std::vector<step::Microbatch>& microbatches);
  std::int64_t steps_left(const std::vector<step::Microbatch>& microbatches) const;
  void advance_cursor(const std::vector<step::Microbatch>& microbatches);

  Run& run_;
  StepSetup setup_;
  lanes::StepRunner runner_;
  BatchSource batches_;
};

}  // namespace esper::tolaria
