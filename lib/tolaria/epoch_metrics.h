#pragma once
// What an epoch came to, as metrics. Which packet they go into, and when: report.h. Training thread.

#include <vector>

#include "leyline/seed.h"
#include "leyline/telemetry_packet.h"
#include "tolaria/growth.h"
#include "tolaria/measure.h"
#include "tolaria/observe.h"
#include "tolaria/run.h"
#include "tolaria/step_metrics.h"

namespace esper::tolaria {

struct EpochOutcome {
  const StepMetrics& steps;
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
