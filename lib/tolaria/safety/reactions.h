#pragma once
// Carries out what the governor decides about a failure: the run rolls back to an earlier state, with a record of what
// is done differently from then on. Training thread.

#include <optional>
#include <string_view>
#include <vector>

#include "tolaria/run/run_end.h"
#include "tolaria/run/saver.h"
#include "tolaria/safety/emergency.h"
#include "tolaria/safety/good_state.h"
#include "tolaria/safety/governor.h"

namespace esper::tolaria {

class Reactions {
 public:
  // Borrows all of it, and of the evaluation what it refers to.
  Reactions(const Evaluation& evaluation, RunProgress& progress, GoodState& good_state, Saver& saver, Outbox& outbox,
            Emergency& emergency)
      : facts_(evaluation.facts),
        settings_(evaluation.model.settings),
        progress_(progress),
        good_state_(good_state),
        saver_(saver),
        outbox_(outbox),
        emergency_(emergency) {}
  Reactions(const Reactions&) = delete;
  Reactions& operator=(const Reactions&) = delete;

  enum class Next {
    kTrainAgain,  // from the state that the run was rolled back to
    kRestart,     // the run is built again from a checkpoint: restart_request() says which
    kStop,        // it has diverged, or does not fit into memory
  };
  // Reports what it does, and records it in the journal.
  Next react(const TrainingFailure& failure);
  const RestartRequest& restart_request() const { return restart_request_; }
  // So that the run goes on from its newest checkpoint at or before that step, without a further reaction.
  RestartRequest request_restart(std::int64_t step) const { return {made_, step, progress_.epoch + 1, progress_.step}; }
  // Whether the run can be built again from there. Where it never saved, from its beginning. Waits for a save that is
  // on its way, where none that is written will do; true, too, where that does not end in time.
  bool has_checkpoint_before(std::int64_t step);
  // What its user can do about a run that diverged in this step.
  static std::string_view advice_for(const TrainingFailure& failure);

 private:
  void save_earlier_state();
  void escalate(Reaction reaction, std::int64_t failures, const std::string& reason);
  void report(const ReactionRecord& reaction, const TrainingFailure& failure);

  const RunFacts& facts_;
  const step::StepSettings& settings_;
  RunProgress& progress_;
  GoodState& good_state_;
  Saver& saver_;
  Outbox& outbox_;
  Emergency& emergency_;
  std::vector<ReactionRecord> made_;  // so far
  RestartRequest restart_request_;
};

}  // namespace esper::tolaria
