#pragma once
// Trains an epoch step by step, each step in the lane that suits it. Training thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tolaria/run/batch_source.h"
#include "tolaria/safety/epoch_failure.h"
#include "tolaria/safety/good_state.h"
#include "tolaria/safety/steady_bits.h"
#include "tolaria/step_trainer.h"

namespace esper::tolaria {

class EpochTrainer {
 public:
  EpochTrainer(Run& run, GoodState& good_state);
  EpochTrainer(const EpochTrainer&) = delete;
  EpochTrainer& operator=(const EpochTrainer&) = delete;

  // Trains from the run's cursor to the end of the epoch, and saves when due. Empty if a signal interrupted it, or if a
  // step went wrong: then failure() has it, and the cursor is before it, or after those of which it is one. Where
  // seeds grow, an epoch with numbers that are not finite is undone as a whole: then the steps after the non-finite one
  // are passed over, and nonfinite_reason() says why.
  std::optional<TrainedEpoch> train();
  const std::optional<TrainingFailure>& failure() const { return failure_.of_step(); }
  const std::string& nonfinite_reason() const { return failure_.of_epoch(); }
  // Trains from the run's cursor until before `step`, of the same epoch, saves nothing and records no lanes: the run
  // does not go on from there. False if a signal or a step that goes wrong comes before it.
  bool train_up_to(std::int64_t step);
  // As StepRunner has it.
  std::optional<base::Error> late_failure(const std::exception& error) { return runner_.late_failure(error); }
  // For the black box; before the epoch is counted.
  void record_epoch_end(const step::StepMetrics& metrics, const TrainedEpoch& trained) {
    step_.record_epoch_end(metrics, trained);
  }

  // Call after the run was rolled back because of failure(). After running out of memory the run is built again.
  void rolled_back();
  // Call after the network may have changed.
  void take_structure() { runner_.structure_changes().take_structure(run_.progress.step); }
  // At the end of an epoch: a limited amount of work on the steps of structures that may come next.
  void prepare_structures();

 private:
  void begin_epoch();
  // The step at the run's cursor, if it is not passed over. False: the epoch ends before it.
  bool train_step(std::vector<step::Microbatch>& microbatches, TrainedEpoch& trained);
  // The cursor is after these: looks back, copies and saves when due. False: the epoch ends here.
  bool end_step(const std::vector<step::Microbatch>& microbatches);
  // In lane compiled a structure's first steps run where they would without an interruption, also those of shapes that
  // had no step since the run was resumed.
  void keep_examples();
  void advance_cursor(const std::vector<step::Microbatch>& microbatches);
  void report_pageable_batches(const std::string& reason);

  Run& run_;
  GoodState& good_state_;
  lanes::StepRunner runner_;
  StepTrainer step_;
  BatchSource batches_;
  EpochFailure failure_;
  SteadyBits steady_bits_;
  bool keeps_examples_;
  bool has_trained_ = false;  // an epoch, in this process
  bool has_reported_pageable_ = false;
};

}  // namespace esper::tolaria
