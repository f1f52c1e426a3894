#pragma once
// Carries out what the governor decides about a step that went wrong: the run goes back to its last good state, with a
// record of what is done differently this time. Training thread.

#include <string_view>

#include "tolaria/safety/good_state.h"
#include "tolaria/safety/governor.h"

namespace esper::tolaria {

inline constexpr std::string_view kLowerRateAdvice = "try a lower training.optimizer.lr or training.clip_norm";

// Single steps are watched on the CPU, and not with fp16 (step/finite_watch.h), and only where something may be done
// about them.
GoodState::Keeps when_to_keep(const RunFacts& facts);

class StepReactions {
 public:
  // Borrows all of it.
  StepReactions(const RunFacts& facts, RunProgress& progress, GoodState& good_state, Outbox& outbox)
      : facts_(facts), progress_(progress), good_state_(good_state), outbox_(outbox) {}
  StepReactions(const StepReactions&) = delete;
  StepReactions& operator=(const StepReactions&) = delete;

  // To before the step, to go on in another way, and reports it. False, with the run as it is: it has diverged.
  bool go_back_before(const BadStep& bad);
  // What its user can do about a run that diverged in this step.
  static std::string_view advice_for(const BadStep& bad);

 private:
  void report(Reaction reaction, const BadStep& bad);

  const RunFacts& facts_;
  RunProgress& progress_;
  GoodState& good_state_;
  Outbox& outbox_;
};

}  // namespace esper::tolaria
