#pragma once
// One epoch as plain data: the policy's observation, and the seeds' measurements.

#include <cstdint>

#include "kasmina/network.h"
#include "leyline/observation.h"
#include "step/step_metrics.h"
#include "tolaria/evaluation/measure.h"
#include "tolaria/state/run_facts.h"
#include "tolaria/state/trained_epoch.h"

namespace esper::tolaria {

// The measurements of one epoch.
struct EpochResults {
  const step::StepMetrics& steps;
  const Measurements& measured;
  const TrainedEpoch& trained;
  bool is_last = false;  // the run ends with this epoch
};

// epoch: its number, from 1.
kasmina::EpochFacts facts_of(const kasmina::Network& network, std::uint32_t epoch, const EpochResults& results);

// Call after the network has applied the facts. progress: with the epoch counted.
leyline::Observation observe(const RunFacts& run, const RunProgress& progress, const kasmina::Network& network,
                             const EpochResults& results);

}  // namespace esper::tolaria
