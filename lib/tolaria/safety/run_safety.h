#pragma once
// What a run does about trouble, in one place: it watches losses and times, goes back to a state that was good, and
// knows how much trouble the run is in. Training thread.

#include <optional>
#include <string>

#include "tolaria/run/run.h"
#include "tolaria/run/run_end.h"
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

  // Before the first epoch of the process, or after the run was composed anew.
  void begin(const std::optional<CameBack>& came_back);
  // A step that went wrong. Empty: it is trained again, in another way, from where the run's progress is now.
  std::optional<RunOutcome> react(const BadStep& bad);
  // Without a report, since the run does not go on from there: the model and the run's progress become those of the
  // newest good state in memory. False: there is none.
  bool return_to_good_state();
  // An epoch that went wrong as a whole.
  RunOutcome fail_epoch(const std::string& reason);
  // An epoch that growing seeds spoilt is to be undone, but this process began within it: then it goes back to a
  // checkpoint from before it, as far as there is one.
  std::optional<RunOutcome> go_before_epoch(const std::string& reason);
  // The epoch is counted and its commands are carried out: from here on the run can go back to this state, if it is
  // good.
  enum class Decision { kMade, kMissing };  // of the policy
  void end_epoch(const LossVerdict& verdict, const Measurements& measured, Decision decision);
  void check_times(double train_ms, double hook_ms);
  // Whether the end of the epoch is to be on the disk, where checkpoints count steps: growing seeds may spoil the next
  // one, and a process that begins within that one goes back to here.
  bool needs_checkpoint() const;
  // The run ends with an error that may have stopped within a step: saves the last state that was good, if there is one
  // in memory. The run's state is that one then.
  void save_good_state() noexcept;
  // A state that the governor suspects is not one to come back to.
  bool is_worth_saving() const { return progress_.safety.suspect_epochs == 0; }
  // The outcome, if the run is in too much trouble to go on. Saves its state.
  std::optional<RunOutcome> halted();

  GoodState& good_state() { return good_state_; }
  const EmergencyFigures& emergency_figures() const { return emergency_.figures(); }

 private:
  RunOutcome go_back(const std::string& reason, const GoBack& where);
  void follow_decision(Decision decision);

  Evaluation evaluation_;
  RunProgress& progress_;
  Outbox& outbox_;
  RunEnd& end_;
  Saver& saver_;
  Emergency emergency_;
  GoodState good_state_;
  Reactions reactions_;
  EpochBudgets budgets_;
  bool is_conservative_ = false;  // the policy does not decide
};

}  // namespace esper::tolaria
