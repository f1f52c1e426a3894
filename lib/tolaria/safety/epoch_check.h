#pragma once
// Whether a run goes on from an epoch that was trained and validated. One that growing seeds made bad is undone, and
// the run goes on without the seeds that are suspected: the youngest one that is active, since a non-finite step
// corrupts every tensor at once, so that the responsible seed cannot be identified; all that grow, if the epoch before
// went wrong, too, or if the network is not good without that one. Training thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tolaria/evaluation/measure.h"
#include "tolaria/run/epoch_end_transaction.h"
#include "tolaria/safety/run_safety.h"
#include "tolaria/safety/step_bundles.h"

namespace esper::tolaria {

class EpochCheck {
 public:
  // Borrows all of it. bundles: null, where none are written.
  EpochCheck(const Evaluation& evaluation, RunProgress& progress, RunSafety& safety, EpochEndTransaction& transaction,
             RunEnd& end, StepBundles* bundles)
      : evaluation_(evaluation),
        progress_(progress),
        safety_(safety),
        transaction_(transaction),
        end_(end),
        bundles_(bundles) {}
  EpochCheck(const EpochCheck&) = delete;
  EpochCheck& operator=(const EpochCheck&) = delete;

  // Not counted yet.
  struct Epoch {
    step::StepMetrics& metrics;
    Measurements& measured;
    const std::string& nonfinite_reason;  // of its steps that were not undone at once; empty if there is none
    // Trains from the run's cursor until before that step of the epoch. False if that ends earlier.
    std::function<bool(std::int64_t step)> train_up_to;
  };
  struct Result {
    LossVerdict verdict;                     // of the epoch as it is now; not kBad
    std::optional<RunOutcome> outcome = {};  // the run ends, or is restarted; empty: it goes on with this epoch
  };
  // If the epoch is undone, its metrics and measurements become those of the state before it, without the seeds that
  // are suspected: Measurements::undone_seeds, with the reason in `undone`. Where its end may be interrupted, the
  // transaction has begun.
  Result check(const Epoch& epoch);

 private:
  // Empty: the epoch is good now, without what its growing seeds did to it. trained: its metrics before that.
  std::optional<RunOutcome> undo(const std::string& reason, const Epoch& epoch, const step::StepMetrics& trained);
  bool measure_again(const std::string& reason, std::optional<StepBundles::Kept> bundle, const Epoch& epoch);
  bool measure_without_suspects(const std::string& reason, const Epoch& epoch);
  void write_bundle(StepBundles::Kept kept, const Epoch& epoch);
  void give_up_end();

  const Evaluation& evaluation_;
  RunProgress& progress_;
  RunSafety& safety_;
  EpochEndTransaction& transaction_;
  RunEnd& end_;
  StepBundles* bundles_;
};

}  // namespace esper::tolaria
