#pragma once
// The last state that was found good, in memory: of the end of an epoch, or of a later step at which the bits of steps
// changed. A run goes back to it after a step that went wrong. If that may be a seed's doing, all growing seeds are
// culled: a non-finite step corrupts every tensor at once, so the responsible one cannot be identified. Training
// thread.

#include <cstdint>
#include <optional>
#include <string>

#include "lanes/lane/step_external_tensors.h"
#include "tolaria/evaluation/measure.h"

namespace esper::tolaria {

// A finite validation loss counts as exploded above both limits (reference 5.2, the governor's absolute bound and
// ratio).
inline constexpr double kLossBound = 12.0;
inline constexpr double kLossRatio = 3.0;

// Of this process.
struct RollbackFigures {
  std::int64_t snapshots = 0, hits = 0, misses = 0;
  std::int64_t size_bytes = 0;  // in memory now
  double latency_ms = 0;        // of the last rollback
};

class GoodState {
 public:
  // When a state is worth its memory: it is, where seeds grow, and where a run may go back before a single step.
  enum class Keeps { kAlways, kWhileSeedsGrow };

  // Borrows all of it.
  GoodState(const Evaluation& evaluation, const RunProgress& progress, Outbox& outbox, Keeps keeps)
      : evaluation_(evaluation), progress_(progress), outbox_(outbox), keeps_(keeps) {}
  GoodState(const GoodState&) = delete;
  GoodState& operator=(const GoodState&) = delete;

  // After an epoch with finite, normal measurements and its commands, or a step that went well: copies the state in
  // place of the earlier copy. Makes no copy if memory is short.
  void keep();
  bool has_growing_seeds() const;

  // Why these finite measurements are not a state to continue from; empty if they are, or if there is no copy, or no
  // growing seed.
  std::string loss_explosion(const Measurements& measured) const;

  // Undoes what was learned since keep(), and reports it. The state is then what kept_progress() belongs to. Returns
  // false, without any change, if there is no copy.
  bool put_back(const std::string& reason);
  const RunProgress& kept_progress() const { return kept_progress_; }
  // After put_back(): the epoch ends with the restored state. `metrics` and `measured` become those of that state
  // without its growing seeds; `measured.undone` gives the reason.
  void measure_again(const std::string& reason, step::StepMetrics& metrics, Measurements& measured);

  const RollbackFigures& figures() const { return figures_; }

 private:
  Evaluation evaluation_;
  const RunProgress& progress_;
  Outbox& outbox_;
  const Keeps keeps_;
  std::optional<lanes::StepSnapshot> copy_;
  RunProgress kept_progress_;
  RollbackFigures figures_;
};

}  // namespace esper::tolaria
