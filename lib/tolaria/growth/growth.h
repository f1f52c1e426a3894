#pragma once
// After an epoch: seeds receive their measurements, the policy decides, and its commands are applied. With
// `policy.overlap` it decides while the next epoch trains, and its commands are applied after that one. Training
// thread.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tolaria/growth/network_changes.h"
#include "tolaria/growth/policy_questions.h"
#include "tolaria/growth/settle.h"
#include "tolaria/run/run.h"

namespace esper::tolaria {

struct GrowthFigures {
  QuestionFigures questions = {};
  double hook_ms = 0;                   // of the last epoch's end: the policy and its commands
  std::int64_t optimizer_rebuilds = 0;  // of this process
  // Seeds that grow no more since the last epoch's end, as that epoch measured them; none where it was undone.
  std::vector<leyline::SeedState> ended = {};
};

// The active seeds (alpha above 0) around an epoch's end, fossils too.
struct ActiveSeeds {
  SeedAlphas trained, validated, left;  // validated: an epoch that was undone, without the seeds that are culled for it
};

class Growth {
 public:
  // probe: on the device; grafts are measured on it. Keeps the log; borrows what `evaluation` refers to, and the
  // others.
  Growth(const Evaluation& evaluation, tamiyo::RunPolicy& policy, LifecycleLog log, const Saver& saver,
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

  // Whether the last epoch's end left the network that the epoch validated: each active seed at its alpha, and
  // no other. Not of seeds that were settled.
  bool left_as_validated() const { return active_.left == active_.validated; }

  // Of the last epoch: losses from before a removal are another network's.
  RemovedSeed removed_active_seed() const;

  // Ids of the active seeds that the last epoch validated, and of those that its end left.
  std::vector<std::string> validated_seeds() const;
  std::vector<std::string> active_seeds() const;

  GrowthFigures figures() const { return {questions_.figures(), hook_ms_, changes_.optimizer_rebuilds(), ended_}; }

 private:
  EpochEnd decide(RunProgress& progress, const EpochResults& results);
  EpochEnd settle(RunProgress& progress, const SeedAlphas& ran);

  Evaluation evaluation_;
  LifecycleLog log_;
  AtTheEnd at_the_end_;
  PolicyQuestions questions_;
  NetworkChanges changes_;
  double hook_ms_ = 0;  // of the last epoch's end
  std::vector<leyline::SeedState> ended_;
  std::optional<EpochFigures> settled_validation_;
  ActiveSeeds active_;  // of the last epoch
};

}  // namespace esper::tolaria
