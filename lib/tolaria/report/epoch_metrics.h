#pragma once
// What an epoch came to, as metrics. Which packet they go into, and when: report.h. Training thread.

#include <vector>

#include "leyline/seed.h"
#include "leyline/telemetry_packet.h"
#include "step/step_metrics.h"
#include "tolaria/evaluation/measure.h"
#include "tolaria/growth/growth.h"
#include "tolaria/growth/observe.h"
#include "tolaria/run/run.h"

namespace esper::tolaria {

struct EpochOutcome {
  const step::StepMetrics& steps;
  const Measurements& measured;
  const EpochTimes& times;
  const GrowthReport& growth;
  const std::vector<leyline::SeedState>& seeds;
};

// All but the ledger's, which are told by time and not by epoch.
std::vector<leyline::MetricValue> epoch_metrics(const Run& run, const EpochOutcome& figures);

// What is known of one seed; each with seed_id, slot, blueprint and stage.
std::vector<leyline::MetricValue> seed_metrics(const leyline::SeedState& seed);

}  // namespace esper::tolaria
