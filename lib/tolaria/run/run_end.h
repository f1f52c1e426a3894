#pragma once
// The ends of a run: each reports itself, and leaves what a run that goes on from there needs on the disk. Training
// thread.

#include <string>
#include <string_view>

#include "leyline/telemetry/telemetry_packet.h"
#include "step/step_metrics.h"
#include "tolaria/run/outbox.h"
#include "tolaria/run/saver.h"
#include "tolaria/state/run_facts.h"
#include "tolaria/state/run_outcome.h"

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
  // The last good checkpoint stays as it is. steps: of the epoch that diverged, so far; null: they are all right.
  RunOutcome diverged(const std::string& reason, std::string_view advice = kLowerRateAdvice,
                      const step::StepMetrics* steps = nullptr);
  RunOutcome out_of_memory(const std::string& reason, std::string_view advice);
  // A state with a number that is not finite is not saved: the reason then says from where the run can be resumed.
  RunOutcome interrupted();
  // The same where that is known; problem: "host.head.weight is not finite".
  RunOutcome interrupted_in_bad_state(const std::string& problem);
  RunOutcome halted(const std::string& reason);

 private:
  leyline::TelemetryEvent early_stop(const std::string& reason) const;
  RunOutcome not_saved();
  int report_signal();
  std::string newest_place() const;
  RunOutcome left_at_newest_checkpoint(int signal, const std::string& problem) const;

  const RunFacts& facts_;
  const RunProgress& progress_;
  Saver& saver_;
  Outbox& outbox_;
};

}  // namespace esper::tolaria
