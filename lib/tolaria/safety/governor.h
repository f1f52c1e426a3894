#pragma once
// What a run does about a failed step or epoch. Pure functions; any thread.

#include <cstdint>
#include <string>

#include "config/safety_config.h"
#include "tolaria/state/safety_record.h"

namespace esper::tolaria {

enum class FailureKind {
  kNonfiniteStep,   // the loss or the gradient of a step is not finite
  kNonfiniteRange,  // the same, of one of several steps
  kOutOfMemory,     // a step could not be computed
  kBadEpoch,        // the losses of an epoch (loss_watch.h)
};

// A step or an epoch that failed.
struct TrainingFailure {
  FailureKind kind = FailureKind::kNonfiniteStep;
  std::int64_t step = 0;      // of the run; of kNonfiniteRange and kBadEpoch: the first one after the last good state
  std::string reason;         // "batch.0.inputs is not finite"
  bool is_of_data = false;    // the batch itself holds a number that is not finite
  std::int64_t end_step = 0;  // kNonfiniteRange: it is one of the steps from `step` until before this one
  bool ran_compiled = false;  // a compiled program ran the step; of a range: some step of its epoch
};

// What bounds the reactions, besides the record.
struct ReactionLimits {
  const config::SafetyConfig& config;
  std::int64_t microbatch = 1;  // samples
  bool computes_in_fp32 = true;
  std::int64_t epoch_end = INT64_MAX;  // the first step after the present epoch: later ones do not count yet
};

// The next of the reactions that are declared for this kind of failure, in this order:
//   non-finite range   the run looks for the step; what it finds is a non-finite step, and what it does not find, three
//                      times in a row, is answered like a bad epoch
//   non-finite step    where a compiled program ran it, the step is compared with eager, three times since the last
//                      epoch that ended well; then the step is skipped, then the learning rate lowered, then the
//                      precision raised, then the run stops
//   out of memory      the microbatches are halved, as long as they can be, then the run stops
//   bad epoch          the learning rate is lowered, then the precision raised, then the run stops
// safety.most_skipped_steps and safety.most_rate_cuts say how often since the last epoch that ended well. Each follows
// a rollback to a state from before the failure. Where the run goes on from a snapshot, steps up to it are trained
// again with the same bits, so only what follows differs.
ReactionRecord next_reaction(const TrainingFailure& failure, const SafetyRecord& record, const ReactionLimits& limits);

// Whether a compiled program may be at fault, which a comparison with eager at the step will show, once a search has
// found it. Where the batch itself is not finite none is.
bool suspects_program(const TrainingFailure& failure, const SafetyRecord& record, const ReactionLimits& limits);

// Whether the run goes on from a checkpoint, built again: with networks and lanes of another precision or size of
// batch, or from before the last epoch. Else the snapshot is enough.
bool needs_checkpoint(const TrainingFailure& failure, const ReactionRecord& reaction);

}  // namespace esper::tolaria
