#pragma once
// The ends of a run: each reports itself, and leaves what a run that goes on from there needs on the disk. Training
// thread.

#include <string>
#include <string_view>

#include "tolaria/run/outbox.h"
#include "tolaria/run/run_facts.h"
#include "tolaria/run/run_outcome.h"
#include "tolaria/run/saver.h"

namespace esper::tolaria {

inline constexpr std::string_view kLowerRateAdvice = "try a lower training.optimizer.lr or training.clip_norm";

class RunEnd {
 public:
  // Borrows all of it.
  RunEnd(const RunFacts& facts, const RunProgress& progress, Saver& saver, Outbox& outbox)
      : facts_(facts), progress_(progress), saver_(saver), outbox_(outbox) {}
  RunEnd(const RunEnd&) = delete;
  RunEnd& operator=(const RunEnd&) = delete;

  // After the last epoch, or before it: validation no longer improves.
  enum class At { kLastEpoch, kNoImprovement };
  RunOutcome finish(At at);
  // The last good checkpoint stays as it is.
  RunOutcome diverged(const std::string& reason, std::string_view advice = kLowerRateAdvice);
  RunOutcome out_of_memory(const std::string& reason, std::string_view advice);
  RunOutcome interrupted();
  RunOutcome halted(const std::string& reason);

 private:
  RunOutcome not_saved();

  const RunFacts& facts_;
  const RunProgress& progress_;
  Saver& saver_;
  Outbox& outbox_;
};

}  // namespace esper::tolaria
