#pragma once
// The last state that validation found sound, in memory while seeds grow. Where a seed makes the loss explode, it is
// put back, and the growing seeds are culled: a non-finite step spoils every tensor at once, so nothing tells them
// apart. Training thread.

#include <cstdint>
#include <optional>
#include <string>

#include "lanes/lane/step_external_tensors.h"
#include "tolaria/evaluation/measure.h"

namespace esper::tolaria {

// A finite validation loss counts as exploded above both (reference 5.2, the governor's absolute bound and ratio).
inline constexpr double kLossBound = 12.0;
inline constexpr double kLossRatio = 3.0;

// Of this process.
struct RollbackFigures {
  std::int64_t snapshots = 0, hits = 0, misses = 0;
  std::int64_t size_bytes = 0;  // held in memory now
  double latency_ms = 0;        // of the last one
};

class GoodState {
 public:
  // Borrows all of it.
  GoodState(const Evaluation& evaluation, const RunProgress& progress, Outbox& outbox)
      : evaluation_(evaluation), progress_(progress), outbox_(outbox) {}
  GoodState(const GoodState&) = delete;
  GoodState& operator=(const GoodState&) = delete;

  // After an epoch whose figures are sound, its commands carried out: takes a copy while a seed is growing, else drops
  // the one there is. No copy where memory lacks for it.
  void keep();

  // Why these figures are no state to go on from, though they are finite; empty if they are, or nothing is kept.
  std::string loss_explosion(const Measurements& measured) const;

  // Undoes what the run learned since keep(), and reports it. `metrics` and `measured` become the figures of the state
  // that was put back, its growing seeds left out; `measured.undone` says why. False, and nothing changed, where
  // nothing is kept.
  bool put_back(const std::string& reason, step::StepMetrics& metrics, Measurements& measured);

  const RollbackFigures& figures() const { return figures_; }

 private:
  bool has_growing_seeds() const;
  void restore(const std::string& reason);

  Evaluation evaluation_;
  const RunProgress& progress_;
  Outbox& outbox_;
  std::optional<lanes::StepSnapshot> copy_;
  std::uint32_t epoch_ = 0;
  double validation_loss_ = 0;
  RollbackFigures figures_;
};

}  // namespace esper::tolaria
