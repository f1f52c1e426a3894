#pragma once
// After an epoch: the seeds take in what was measured, the policy is asked, its commands are applied.

#include "leyline/observation.h"
#include "tolaria/growth/observe.h"
#include "tolaria/run/run.h"

namespace esper::tolaria {

// What the epoch's packet tells of it.
struct GrowthReport {
  double decide_ms = 0;  // the policy
  double hook_ms = 0;    // the policy and its commands
};

// Advances the run's network and step state; events go to run.events and notes to the journal.
GrowthReport grow(Run& run, const step::StepMetrics& metrics, const Measurements& measured, const EpochTimes& times);

}  // namespace esper::tolaria
