#pragma once
// What a run does about failures, in one place: it watches losses and times, rolls back to a state that was good, and
// knows how badly the run is failing. Training thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tolaria/run/epoch_end_transaction.h"
#include "tolaria/run/run.h"
#include "tolaria/run/run_end.h"
#include "tolaria/safety/conservative_mode.h"
#include "tolaria/safety/epoch_budgets.h"
#include "tolaria/safety/good_state.h"
#include "tolaria/safety/loss_watch.h"
#include "tolaria/safety/reactions.h"
#include "tolaria/safety/step_bundles.h"

namespace esper::tolaria {

class RunSafety {
 public:
  // Borrows all of it. bundles: null, where none are written.
  RunSafety(const Evaluation& evaluation, RunProgress& progress, Saver& saver, Outbox& outbox, RunEnd& end,
            StepBundles* bundles);
  RunSafety(const RunSafety&) = delete;
  RunSafety& operator=(const RunSafety&) = delete;

  // Before the first epoch of the process, or after the run was restarted.
  void begin(const std::optional<RestartReport>& restart_report);
  // A step that failed. Empty: it is trained again, in another way, from where the run's progress is now.
  std::optional<RunOutcome> react(const TrainingFailure& failure);
  // The first tensor that is not finite now; empty if all are. Waits for the device.
  std::string first_not_finite() const;
  // Without a report, since the run does not go on from there: the model and the run's progress become those of the
  // newest good state in memory. False: there is none.
  bool restore_good_state();

  // The end of an epoch, in this order. Where it may be interrupted, its transaction has begun; before what completes
  // it, the snapshot is discarded (good_state()), since the network's structure may change.
  EpochEndTransaction& transaction() { return transaction_; }
  // An epoch that was trained and validated, and is not counted yet.
  struct EpochToCheck {
    step::StepMetrics& metrics;
    Measurements& measured;
    const std::string& nonfinite_reason;  // of its steps that were not undone at once; empty if there is none
    // Trains from the run's cursor until before that step of the epoch. False if that ends earlier.
    std::function<bool(std::int64_t step)> train_up_to;
  };
  struct EpochCheck {
    LossVerdict verdict;                     // of the epoch as it is now; not kBad
    std::optional<RunOutcome> outcome = {};  // the run ends, or is restarted; empty: it goes on with this epoch
  };
  // Whether the run goes on from the epoch. One that growing seeds made bad is undone: then metrics and measurements
  // become those of the state before it, without the seeds that are suspected (GoodState::measure_again()).
  EpochCheck check_epoch(const EpochToCheck& epoch);
  // The epoch is counted and its commands are carried out: from here on the run can roll back to this state, if it is
  // good.
  void end_epoch(const LossVerdict& verdict, const Measurements& measured, ConservativeMode::Decision decision);
  void check_times(double train_ms, double hook_ms);
  // The outcome, if the run is failing too badly to go on. Saves its state.
  std::optional<RunOutcome> halted();

  // The run ends with an error that may have stopped within a step: saves the last state that was good, if there is one
  // in memory. The run's state is that one then.
  void save_good_state() noexcept;

  // For the trainer, which takes snapshots within an epoch, and for what changes the network.
  GoodState& good_state() { return good_state_; }
  const EmergencyFigures& emergency_figures() const { return emergency_.figures(); }

 private:
  // Empty: the epoch is good now, without what its growing seeds did to it.
  std::optional<RunOutcome> undo_epoch(const std::string& reason, const EpochToCheck& epoch);
  bool measure_again(const std::string& reason, std::optional<StepBundles::Kept> bundle, const EpochToCheck& epoch);
  void write_bundle(StepBundles::Kept kept, const EpochToCheck& epoch);
  void give_up_end();
  RunOutcome fail_epoch(const std::string& reason);
  std::optional<RunOutcome> restart_before_epoch(const std::string& reason);
  RunOutcome restart(const std::string& reason, const RestartRequest& request);

  Evaluation evaluation_;
  RunProgress& progress_;
  Outbox& outbox_;
  RunEnd& end_;
  Saver& saver_;
  StepBundles* bundles_;
  Emergency emergency_;
  GoodState good_state_;
  Reactions reactions_;
  EpochBudgets budgets_;
  EpochEndTransaction transaction_;
  ConservativeMode conservative_mode_;
};

}  // namespace esper::tolaria
