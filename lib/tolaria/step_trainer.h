#pragma once
// Trains one step of a run, with what surrounds it: its learning rates, smaller microbatches where memory ran short,
// the account of its time, its record in the black box, and the look for numbers that are not finite. Training thread.

#include <cstdint>
#include <optional>
#include <vector>

#include "device/queued_work.h"
#include "lanes/step_runner.h"
#include "tolaria/run/run.h"
#include "tolaria/run/step_setup.h"
#include "tolaria/safety/governor.h"
#include "tolaria/safety/step_bundles.h"
#include "tolaria/safety/step_recorder.h"
#include "tolaria/safety/step_watch.h"
#include "tolaria/state/trained_epoch.h"

namespace esper::tolaria {

// False for an epoch's last step, where that is shorter.
bool is_whole_step(const std::vector<step::Microbatch>& microbatches, const config::RunConfig& config);
// Remaining steps of this shape in the run: one per epoch if it is the epoch's last, which may be shorter.
std::int64_t steps_left_of_shape(const std::vector<step::Microbatch>& microbatches, const Run& run);

class StepTrainer {
 public:
  // Borrows both.
  StepTrainer(Run& run, lanes::StepRunner& runner);
  StepTrainer(const StepTrainer&) = delete;
  StepTrainer& operator=(const StepTrainer&) = delete;

  // Before the first step from the run's cursor on.
  void begin_epoch();
  struct Result {
    std::optional<TrainingFailure> failure = {};
    bool is_stopped = false;  // by a signal, before the step
  };
  // The step at the run's cursor. On a GPU it is only queued; waits where too many are.
  Result train(const std::vector<step::Microbatch>& microbatches);
  // Instead, if it is not trained.
  void pass_over(const std::vector<step::Microbatch>& microbatches) { recorder_.pass_over(microbatches); }
  // Before the step at the run's cursor: as StepWatch::look_back().
  std::optional<TrainingFailure> look_back(StepWatch::When when);

  // The learning rates of the epoch's last step.
  void add_learning_rates(TrainedEpoch& trained);
  // For the black box; before the epoch is counted.
  void record_epoch_end(const step::StepMetrics& metrics, const TrainedEpoch& trained) {
    recorder_.end_epoch(metrics, trained);
  }

 private:
  // used: the microbatches, or smaller ones of the same samples.
  Result run_step(const std::vector<step::Microbatch>& microbatches, const std::vector<step::Microbatch>& used);

  Run& run_;
  lanes::StepRunner& runner_;
  StepSetup setup_;
  StepWatch watch_;
  StepRecorder recorder_;
  device::QueuedWork queued_;
};

}  // namespace esper::tolaria
