#pragma once
// What an epoch's steps showed of the seeds' gradients, as metrics and warnings. Training thread.

#include <span>
#include <vector>

#include "leyline/seed.h"
#include "leyline/telemetry_packet.h"
#include "step/step_metrics.h"
#include "tolaria/run/run.h"

namespace esper::tolaria {

// tolaria.grad_agg.* of the host ("TEACHER"), of each seed, and of all; kasmina.isolation.violations.
void add_seed_gradients(std::vector<leyline::MetricValue>& out, const Run& run, const step::StepMetrics& metrics,
                        std::span<const leyline::SeedState> seeds);

// kasmina.seed.isolation.* of one seed.
void add_isolation(std::vector<leyline::MetricValue>& out, const step::StepMetrics& metrics,
                   const leyline::SeedState& seed);

// Into run.events: each growing seed's figures in one event, and what is over the limits of growth.aggregation.
void warn_of_seeds(Run& run, const step::StepMetrics& metrics, std::span<const leyline::SeedState> seeds);

}  // namespace esper::tolaria
