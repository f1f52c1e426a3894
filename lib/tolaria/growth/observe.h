#pragma once
// One epoch as plain data: what the policy sees, and what its measurements say to the seeds.

#include <string>

#include "device/staging.h"
#include "leyline/observation.h"
#include "step/step_metrics.h"
#include "tolaria/evaluation/measure.h"
#include "tolaria/run/run.h"

namespace esper::tolaria {

// Wall-clock figures of one epoch; reported, never decided upon.
struct EpochTimes {
  double train_ms = 0;        // the training part, in this process
  std::int64_t samples = 0;   // rows of the batches trained on in that time; a row of text is data.context characters
  double loader_wait_ms = 0;  // of it, waiting for batches
  device::CopyTimes copies;   // of batches to the device, as its events told
  double hook_ms = 0;         // measuring, deciding and applying
};

kasmina::EpochFacts facts_of(const Run& run, const step::StepMetrics& metrics, const Measurements& measured);

// After the network has taken in the facts.
leyline::Observation observe(const Run& run, const step::StepMetrics& metrics, const EpochTimes& times);

}  // namespace esper::tolaria
