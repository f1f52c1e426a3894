#pragma once
// Trains an epoch step by step, each step in the lane that suits it. Training thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanes/step_runner.h"
#include "tolaria/run/batch_source.h"
#include "tolaria/run/run.h"
#include "tolaria/run/step_setup.h"
#include "tolaria/run/trained_epoch.h"
#include "tolaria/safety/good_state.h"
#include "tolaria/safety/governor.h"
#include "tolaria/safety/steady_bits.h"
#include "tolaria/safety/step_bundles.h"
#include "tolaria/safety/step_recorder.h"
#include "tolaria/safety/step_watch.h"

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
  const std::optional<TrainingFailure>& failure() const { return failure_; }
  const std::string& nonfinite_reason() const { return nonfinite_reason_; }
  // Trains from the run's cursor until before `step`, of the same epoch, and saves nothing. False if a signal or a step
  // that goes wrong comes before it.
  bool train_up_to(std::int64_t step);
  // For the black box; before the epoch is counted.
  void record_epoch_end(const step::StepMetrics& metrics, const TrainedEpoch& trained) {
    recorder_.end_epoch(metrics, trained);
  }

  // Call after the run was rolled back to an earlier step.
  void rolled_back() { runner_.rolled_back(run_.progress.step); }
  // Call after the network may have changed.
  void take_structure() { runner_.take_structure(run_.progress.step); }
  // At the end of an epoch: a limited amount of work on the steps of structures that may come next.
  void prepare_structures();

 private:
  void begin_epoch();
  // What went wrong, if it did. is_stopped_ if a signal came before the step.
  std::optional<TrainingFailure> train_step(const std::vector<step::Microbatch>& microbatches, std::int64_t steps_left);
  // used: the microbatches, or smaller ones of the same samples.
  std::optional<TrainingFailure> run_step(const std::vector<step::Microbatch>& microbatches,
                                          const std::vector<step::Microbatch>& used, std::int64_t steps_left);
  // To failure(), or to nonfinite_reason() where the run cannot roll back a single step.
  void record_failure(std::optional<TrainingFailure> failure, bool can_roll_back);
  void wait_for_device() const;
  void save();
  bool is_whole(const std::vector<step::Microbatch>& microbatches) const;
  std::int64_t steps_left(const std::vector<step::Microbatch>& microbatches) const;
  void advance_cursor(const std::vector<step::Microbatch>& microbatches);

  Run& run_;
  GoodState& good_state_;
  StepSetup setup_;
  lanes::StepRunner runner_;
  BatchSource batches_;
  StepWatch watch_;
  StepRecorder recorder_;
  std::optional<TrainingFailure> failure_;
  bool is_stopped_ = false;  // by a signal, before the step that was to run
  std::string nonfinite_reason_;
  SteadyBits steady_bits_;
  bool has_trained_ = false;  // an epoch, in this process
};

}  // namespace esper::tolaria
