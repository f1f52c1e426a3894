#pragma once
// What a run does about a step that went wrong. A pure function; any thread.

#include <cstdint>
#include <string>

#include "config/run_config.h"
#include "tolaria/run/safety_record.h"

namespace esper::tolaria {

struct BadStep {
  std::int64_t step = 0;    // of the run
  std::string reason;       // "batch.0.inputs is not finite"
  bool is_of_data = false;  // the batch itself holds a number that is not finite
};

// In the order in which they are tried. Each follows a return to the state from before the step: steps up to it are
// trained again with the same bits, so only it and what follows differ.
enum class Reaction {
  kSkipStep,   // its samples are passed over
  kLowerRate,  // from it on, every learning rate is lower
  kStop,       // the run has diverged
};

// safety.most_skipped_steps and safety.most_rate_cuts say how often since the last epoch that ended well.
Reaction next_reaction(const SafetyRecord& record, const config::SafetyConfig& config);

// The record after that reaction to that step. Not of kStop.
SafetyRecord after_reaction(SafetyRecord record, Reaction reaction, std::int64_t step,
                            const config::SafetyConfig& config);
// After an epoch that ended well, before `step`: what is past is dropped, and reactions are counted from 0 again.
SafetyRecord after_epoch(SafetyRecord record, std::int64_t step);

}  // namespace esper::tolaria
