#pragma once
// The last state that was found good, as a snapshot in the memory of the host: of the end of an epoch, or of a later
// step at which the run saved, or the bits of steps changed. A run rolls back to it after a step that went wrong, or an
// epoch that growing seeds made bad (epoch_check.h). Training thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tolaria/evaluation/evaluation.h"
#include "tolaria/run/state_copy.h"
#include "tolaria/safety/emergency.h"
#include "tolaria/state/rollback_figures.h"

namespace esper::tolaria {

class GoodState {
 public:
  // When a state is worth its memory: it is, where seeds grow, and where a run may roll back a single step.
  enum class TakesSnapshots { kAlways, kWhileSeedsGrow };

  // Borrows all of it.
  GoodState(const Evaluation& evaluation, const RunProgress& progress, Outbox& outbox, Emergency& emergency,
            TakesSnapshots takes_snapshots)
      : evaluation_(evaluation),
        progress_(progress),
        outbox_(outbox),
        emergency_(emergency),
        takes_snapshots_(takes_snapshots) {}
  GoodState(const GoodState&) = delete;
  GoodState& operator=(const GoodState&) = delete;

  // After an epoch with finite, normal measurements and its commands, or a step that went well: replaces the earlier
  // snapshot. There is none if memory is short, if it exceeds safety.snapshot_limit_mb, or if the governor suspects the
  // last epoch (loss_watch.h).
  void take_snapshot();
  // What follows changes the network's structure: there is no snapshot until the next take_snapshot().
  void discard_snapshot();
  bool has_growing_seeds() const;
  // The snapshot, for the run's saves; null if there is none.
  const StateCopy* snapshot() const { return snapshot_ ? &*snapshot_ : nullptr; }
  // Null also where the run went on since it was taken, or is back before it.
  const StateCopy* snapshot_of_now() const;
  // Whether the snapshot is from the middle of an epoch, where this process took the run up.
  bool is_within_epoch() const { return snapshot_ && snapshot_progress_.batch > 0; }

  // Undoes what was learned since take_snapshot(); counts and reports it, a rollback that was late too. The state is
  // then what snapshot_progress() belongs to. Returns false, without any change but the count, if there is no snapshot.
  bool rollback(const std::string& reason);
  // Instead for a run that ends: what it saves is the snapshot, and the model is left as it is. Counts and reports it.
  void end_with_snapshot(const std::string& reason);
  // rollback() without count and report: of what was trained after a rollback, only to look at it.
  bool restore_snapshot();
  const RunProgress& snapshot_progress() const { return snapshot_progress_; }
  // One that was made elsewhere: to what the run's progress is now.
  struct Rollback {
    std::string reason;
    std::uint32_t epoch = 0;  // that the run came from, from 1
    std::int64_t step = 0;
    std::int64_t failures = 0;  // SafetyRecord::failures_before(), of the epoch that the run came from
    base::Duration took{};
    std::string_view tier;  // "memory", "checkpoint"
  };
  void report_rollback(const Rollback& made);
  // There is no state to roll back to.
  void report_failure(const std::string& reason, const std::string& detail);

  const RollbackFigures& figures() const { return figures_; }
  // The run was built again in this process: its counts go on.
  void go_on_from(const RollbackFigures& earlier) {
    figures_ = earlier;
    figures_.size_bytes = 0;
  }

 private:
  void report_return(const std::string& reason, base::Duration took);

  Evaluation evaluation_;
  const RunProgress& progress_;
  Outbox& outbox_;
  Emergency& emergency_;
  const TakesSnapshots takes_snapshots_;
  std::optional<StateCopy> snapshot_;
  RunProgress snapshot_progress_;
  RollbackFigures figures_;
};

}  // namespace esper::tolaria
