#pragma once
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "base/quantity.h"
#include "config/field.h"

namespace esper::config {

// What a training that takes too long does: 0 learns its limit from the run's own epochs (tolaria/safety/budget.h).
struct BudgetConfig {
  base::Duration epoch = base::Duration(0);
  base::Duration hook = base::Duration(0);

  template <class = void>
  static constexpr auto fields() {
    using C = BudgetConfig;
    return std::tuple{
        field("epoch", &C::epoch,
              "how long the training part of an epoch may take before an event reports it; 0s: learned from earlier "
              "epochs"),
        field("hook", &C::hook, "the same for what follows its last step: validation, the policy and its commands")};
  }
};

// The emergency of a run (tolaria/safety/emergency.h).
struct EmergencyConfig {
  int failed_epochs = 0;
  bool halt_on_late_rollback = false;
  std::string signal_name;
  std::string rollback_signal_name;

  template <class = void>
  static constexpr auto fields() {
    using C = EmergencyConfig;
    return std::tuple{
        field("failed_epochs", &C::failed_epochs,
              "after this many failed epochs in a row the run saves and ends with exit status 75; 0: never",
              between(0, 1e6)),
        field("halt_on_late_rollback", &C::halt_on_late_rollback,
              "the same after a return to an earlier state that took longer than safety.rollback_deadline"),
        field("signal_name", &C::signal_name,
              "name of a shared memory object that shows the level of the emergency to other processes; empty: none"),
        field("rollback_signal_name", &C::rollback_signal_name,
              "the same for a return that took longer than its deadline")};
  }
};

// When a run looks whether its steps were finite: after each, or late, where a look waits for a GPU
// (tolaria/safety/step_watch.h).
enum class StepWatching { kAuto, kEach, kLate };
constexpr auto names(StepWatching) {
  using W = StepWatching;
  return std::array{std::pair{W::kAuto, "auto"}, std::pair{W::kEach, "each"}, std::pair{W::kLate, "late"}};
}

// Time limits, and what a run does about steps and epochs that go wrong.
struct SafetyConfig {
  base::Duration data_deadline = std::chrono::seconds(60);
  base::Duration policy_deadline = std::chrono::seconds(2);
  base::Duration policy_start_deadline = std::chrono::seconds(30);
  base::Duration save_deadline = std::chrono::seconds(120);
  base::Duration rollback_deadline = std::chrono::seconds(12);
  base::Duration stall_deadline = std::chrono::minutes(30);
  StepWatching step_watch = StepWatching::kAuto;
  int most_skipped_steps = 2, most_rate_cuts = 2;
  double rate_cut = 0.5;
  int snapshot_limit_mb = 0;
  bool watch_loss = true, stop_when_stalled = false;
  BudgetConfig budget;
  EmergencyConfig emergency;

  template <class = void>
  static constexpr auto fields() {
    using C = SafetyConfig;
    return std::tuple{
        field("data_deadline", &C::data_deadline, "time limit for one batch"),
        field("policy_deadline", &C::policy_deadline, "time limit for a decision; a late one is dropped"),
        field("policy_start_deadline", &C::policy_start_deadline,
              "time limit for the policy's process, if it has one, to become ready; a run does not start without it"),
        field("save_deadline", &C::save_deadline, "time limit for a checkpoint write"),
        field("rollback_deadline", &C::rollback_deadline,
              "how long a return to an earlier state may take before it counts as failed"),
        field("stall_deadline", &C::stall_deadline,
              "how long a run may make no progress before this is reported; 0s: never"),
        field("stop_when_stalled", &C::stop_when_stalled,
              "end the process after that report, with exit status 75, so that the run can be resumed"),
        field("step_watch", &C::step_watch,
              "when a step whose loss or gradient is not finite is detected; each: right after the step, which waits "
              "for the GPU; late: every two seconds, before a save, at a signal and at the end of an epoch, and the "
              "run goes back to find the step (while seeds grow, the epoch is undone as a whole instead); auto: late "
              "on a GPU, each on the CPU"),
        field("most_skipped_steps", &C::most_skipped_steps,
              "how many steps whose loss or gradient is not finite are skipped, since the last epoch that ended well; "
              "0: none",
              between(0, 1000)),
        field("most_rate_cuts", &C::most_rate_cuts,
              "after those, and after epochs that diverged: how many times the learning rate is lowered instead, "
              "before the run ends as diverged",
              between(0, 100)),
        field("rate_cut", &C::rate_cut, "by which factor it is lowered", between(0.001, 0.999)),
        field("watch_loss", &C::watch_loss,
              "go back to an earlier state if the validation loss leaves the range of the epochs before, or returns to "
              "that of guessing"),
        field("snapshot_limit_mb", &C::snapshot_limit_mb,
              "memory limit for the state that a run goes back to; a larger one is read from the newest checkpoint "
              "instead; 0: no limit",
              between(0, 1e9)),
        field("budget", &C::budget, "how long parts of an epoch may take"),
        field("emergency", &C::emergency, "when a run stops after failures, and where other processes see it")};
  }
  void validate(Findings& out) const;
  // Whether anything is done about a step that goes wrong, but where seeds grow.
  bool may_react() const { return most_skipped_steps > 0 || most_rate_cuts > 0; }
};

}  // namespace esper::config
