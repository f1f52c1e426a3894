#pragma once
// What a run does about failures, in one place: it rolls back to a state that was good, reports slow epochs, and knows
// how badly the run is failing. Whether an epoch failed: epoch_check.h. Training thread.

#include <cstdint>
#include <optional>
#include <string>

#include "tolaria/evaluation/measure.h"
#include "tolaria/run/run.h"
#include "tolaria/run/run_end.h"
#include "tolaria/safety/conservative_mode.h"
#include "tolaria/safety/epoch_budgets.h"
#include "tolaria/safety/good_state.h"
#include "tolaria/safety/loss_watch.h"
#include "tolaria/safety/reactions.h"

namespace esper::tolaria {

class RunSafety {
 public:
  // Borrows all of it.
  RunSafety(const Evaluation& evaluation, RunProgress& progress, Saver& saver, Outbox& outbox, RunEnd& end);
  RunSafety(const RunSafety&) = delete;
  RunSafety& operator=(const RunSafety&) = delete;

  // Before the first epoch of the process, or after the run was restarted.
  void begin(const std::optional<RestartReport>& restart_report);
  // A step that failed. Empty: it is trained again, in another way, from where the run's progress is now.
  std::optional<RunOutcome> react(const TrainingFailure& failure);
  // An epoch that failed as a whole: the run ends, or is restarted from a checkpoint. steps: what it showed.
  RunOutcome fail_epoch(const std::string& reason, const step::StepMetrics& steps);
  // The same where this process began within the epoch and seeds grow: restarts the run from a checkpoint from before
  // it, without a further reaction. Empty: it began earlier, no seed grows, or there is no such checkpoint.
  std::optional<RunOutcome> restart_before_epoch(const std::string& reason);
  // The first tensor that is not finite now; empty if all are. Waits for the device.
  std::string first_not_finite() const;
  // Without a report, since the run does not go on from there: the model and the run's progress become those of the
  // newest good state in memory. False: there is none.
  bool restore_good_state();

  // The epoch is counted and its commands are carried out: from here on the run can roll back to this state, if it is
  // good. Before the commands the snapshot was discarded (good_state()), since the network's structure may change.
  void end_epoch(const LossVerdict& verdict, const Measurements& measured, ConservativeMode::Decision decision,
                 RemovedSeed removed);
  void check_times(double train_ms, double hook_ms);
  // The outcome, if the run is failing too badly to go on. Saves its state.
  std::optional<RunOutcome> halted();

  // The run ends with an error that may have stopped within a step: saves the last state that was good, if there is one
  // in memory. The run's progress is that one's then, and so is what is saved; the model and the device, which may be
  // lost, are not touched.
  void save_good_state() noexcept;

  // For the trainer, which takes snapshots within an epoch, and for what changes the network.
  GoodState& good_state() { return good_state_; }
  const EmergencyFigures& emergency_figures() const { return emergency_.figures(); }

 private:
  // steps: of the epoch; null: those so far.
  std::optional<RunOutcome> react(const TrainingFailure& failure, const step::StepMetrics* steps);
  RunOutcome restart(const std::string& reason, const RestartRequest& request);

  Evaluation evaluation_;
  RunProgress& progress_;
  Outbox& outbox_;
  RunEnd& end_;
  Saver& saver_;
  Emergency emergency_;
  GoodState good_state_;
  Reactions reactions_;
  EpochBudgets budgets_;
  ConservativeMode conservative_mode_;
};

}  // namespace esper::tolaria
