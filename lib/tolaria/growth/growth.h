#pragma once
// After an epoch: seeds receive their measurements, the policy decides, and its commands are applied. With
// `policy.overlap` it decides while the next epoch trains, and its commands are applied after that one. Training
// thread.

#include <cstdint>
#include <optional>
#include <vector>

#include "tolaria/growth/control.h"
#include "tolaria/growth/lifecycle_log.h"
#include "tolaria/growth/observe.h"
#include "tolaria/growth/policy_schedule.h"
#include "tolaria/growth/settle.h"
#include "tolaria/run/run.h"

namespace esper::tolaria {

struct GrowthFigures {
  GrowthTimes times = {};
  std::optional<double> decide_ms = {};           // until the policy's last answer; none where it was not asked
  bool without_decision = false;                  // the default applied after the last epoch
  std::int64_t optimizer_rebuilds = 0;            // of this process
  std::vector<leyline::MetricValue> policy = {};  // of the service's evaluation; empty without one
};

enum class EpochEnd { kComplete, kInterrupted };

class Growth {
 public:
  // probe: on the device; grafts are measured on it. Borrows what `evaluation` refers to, and the others.
  Growth(const Evaluation& evaluation, tamiyo::RunPolicy& policy, LifecycleLog& log, const Saver& saver,
         torch::Tensor probe, AtTheEnd at_the_end);
  Growth(const Growth&) = delete;
  Growth& operator=(const Growth&) = delete;

  // Advances the network, the step state and the progress, whose epoch is complete afterwards. Interrupted by a signal
  // while it trains a control or settles seeds: the run is then in no state to go on from, and neither the decision nor
  // what it changed was reported.
  EpochEnd end_epoch(RunProgress& progress, const EpochResults& results);

  // True if the end of the epoch that `progress` does not count yet may train a control, so that it can be interrupted.
  bool may_train_control(const RunProgress& progress) const;
  // True if a run that ends now settles seeds, which can be interrupted, too.
  bool may_settle() const;

  // True if the policy, or a control, needs each validation sample's figures of the epoch to come.
  bool needs_samples(const RunProgress& progress) const;

  // Of the last epoch's end: the network's validation, where seeds that were settled changed the network.
  const std::optional<EpochFigures>& settled_validation() const { return settled_validation_; }

  const GrowthFigures& figures() const { return figures_; }

  // At a run's start: a question that the checkpoint holds is asked again.
  void ask_again() { policy_.ask_again(); }

 private:
  enum class IfDecided { kApply, kDrop };

  void take_in(const kasmina::EpochFacts& facts);
  void compare(RunProgress& progress, const EpochResults& results, kasmina::EpochFacts& facts);
  EpochEnd decide(RunProgress& progress, const EpochResults& results);
  void ask(const RunProgress& progress, const EpochResults& results);
  EpochEnd finish_question(RunProgress& progress, IfDecided then);
  void drop(const leyline::Decision& decision);
  EpochEnd apply(RunProgress& progress, const leyline::Decision& decision);
  // Whether it was rejected.
  bool report_rejection(const leyline::AdaptationCommand& command,
                        const std::vector<kasmina::LifecycleEvent>& happened);
  EpochEnd settle(RunProgress& progress, const SeedAlphas& ran);
  void remove_unsettled(RunProgress& progress);
  bool wants_control(const leyline::AdaptationCommand& command, std::uint64_t now_ns);
  TrainedControl train_control(RunProgress& progress);
  void keep(RunProgress& progress, const std::vector<kasmina::LifecycleEvent>& happened, TrainedControl control);

  Evaluation evaluation_;
  const RunFacts& facts_;
  step::Model& model_;
  tamiyo::RunPolicy& policy_;
  LifecycleLog& log_;
  const Saver& saver_;
  torch::Tensor probe_;
  AtTheEnd at_the_end_;
  GrowthFigures figures_;
  GrowthTimes consult_times_;  // of the last epoch's end at which the policy was asked, or answered
  std::optional<EpochFigures> settled_validation_;
};

}  // namespace esper::tolaria
