#pragma once
// The last state that was found good, in the memory of the host: of the end of an epoch, or of a later step at which
// the run saved, or the bits of steps changed. A run goes back to it after a step that went wrong. If that may be a
// seed's doing, the youngest seed that is active is culled: a non-finite step corrupts every tensor at once, so the
// responsible one cannot be identified. All growing seeds are, if the epoch before went wrong, too, or if the network
// is not good without that one. Training thread.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanes/lane/step_external_tensors.h"
#include "tolaria/evaluation/measure.h"
#include "tolaria/run/rollback_figures.h"
#include "tolaria/safety/emergency.h"

namespace esper::tolaria {

class GoodState {
 public:
  // When a state is worth its memory: it is, where seeds grow, and where a run may go back before a single step.
  enum class Keeps { kAlways, kWhileSeedsGrow };

  // Borrows all of it.
  GoodState(const Evaluation& evaluation, const RunProgress& progress, Outbox& outbox, Emergency& emergency,
            Keeps keeps)
      : evaluation_(evaluation), progress_(progress), outbox_(outbox), emergency_(emergency), keeps_(keeps) {}
  GoodState(const GoodState&) = delete;
  GoodState& operator=(const GoodState&) = delete;

  // After an epoch with finite, normal measurements and its commands, or a step that went well: copies the state in
  // place of the earlier copy. There is none if memory is short, if it exceeds safety.snapshot_limit_mb, or if the
  // governor suspects the last epoch (loss_watch.h).
  void keep();
  // What follows changes the network's structure: there is no copy until the next keep().
  void forget();
  bool has_growing_seeds() const;
  bool has_copy() const { return copy_.has_value(); }
  // Whether the copy is from the middle of an epoch, where this process took the run up.
  bool is_within_epoch() const { return copy_ && kept_progress_.batch > 0; }

  // Why these finite measurements are not a state to continue from; empty if they are, or if there is no copy, or no
  // growing seed.
  std::string loss_explosion(const Measurements& measured) const;

  // Undoes what was learned since keep(), and reports it, a return that was late too. The state is then what
  // kept_progress() belongs to. Returns false, without any change but the count, if there is no copy.
  bool put_back(const std::string& reason);
  // The same as put_back(), without a report: of what was trained after a return, only to look at it.
  bool restore();
  const RunProgress& kept_progress() const { return kept_progress_; }
  // A return that was made elsewhere: to what the run's progress is now.
  struct Return {
    std::string reason;
    std::uint32_t epoch = 0;  // that the run came from, from 1
    std::int64_t step = 0;
    base::Duration took{};
    std::string_view tier;  // "memory", "checkpoint"
  };
  void report_return(const Return& made);
  // There is nothing to go back to.
  void report_failure(const std::string& reason, const std::string& detail);
  // After put_back(): the epoch ends with the restored state. `metrics` and `measured` become those of that state
  // without the seeds that are suspected, `measured.undone_seeds`; `measured.undone` gives the reason. False if a
  // signal ended it: then they are of no use.
  bool measure_again(const std::string& reason, step::StepMetrics& metrics, Measurements& measured);

  const RollbackFigures& figures() const { return figures_; }
  // The run was composed anew in this process: its counts go on.
  void go_on_from(const RollbackFigures& earlier) {
    figures_ = earlier;
    figures_.size_bytes = 0;
  }

 private:
  Evaluation evaluation_;
  const RunProgress& progress_;
  Outbox& outbox_;
  Emergency& emergency_;
  const Keeps keeps_;
  std::optional<lanes::StepSnapshot> copy_;
  RunProgress kept_progress_;
  RollbackFigures figures_;
};

}  // namespace esper::tolaria
