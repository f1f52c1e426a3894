#pragma once
// Runs steps in lanes, and counts them. Training thread.

#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/quantity.h"
#include "lanes/shape/lane_failures.h"
#include "lanes/shape/step_tally.h"

namespace esper::lanes {

class LaneExecutor {
 public:
  // The references must outlive the executor.
  LaneExecutor(const LaneContext& context, LaneFailures& failures) : context_(context), failures_(failures) {}

  void run_eager(std::span<const step::Microbatch> microbatches);
  // Throws LaneFailures::failed_step() where a compiled program fails, and what it threw where memory ran out.
  void run_in(const Lane& lane, std::span<const step::Microbatch> microbatches);
  // In eager where there is none.
  void run_incumbent(const std::optional<Lane>& incumbent, std::span<const step::Microbatch> microbatches);
  // Of a compiled program in whose comparison an error came that CUDA reports late.
  base::Error failed_step(const Lane& lane, const std::string& reason) { return failures_.failed_step(lane, reason); }
  // The same of an error that came between two steps, if compiled programs ran since begin_epoch() and CUDA reports
  // such an error late; nothing of other errors, and of one that failed_step() returned.
  std::optional<base::Error> late_failure(const std::exception& error);
  // The time that `step` takes alone, on a GPU too, where what was queued before is waited for.
  base::Duration time(const std::function<void()>& step) const;

  const StepTally& tally() const { return tally_; }
  // Resets the counts of an epoch.
  void begin_epoch() { tally_.epoch_steps = tally_.epoch_compiled_steps = 0; }

 private:
  const LaneContext& context_;
  LaneFailures& failures_;
  StepTally tally_;
};

}  // namespace esper::lanes
