#pragma once
// Gradients of the seeds in an epoch's steps, as metrics and warnings. Training thread.

#include <cstddef>
#include <span>
#include <vector>

#include "config/growth_config.h"
#include "kasmina/network.h"
#include "leyline/seed.h"
#include "leyline/telemetry/telemetry_packet.h"
#include "step/step_metrics.h"
#include "tolaria/run/outbox.h"
#include "tolaria/state/run_progress.h"

namespace esper::tolaria {

struct GradientView {
  const GradientShares& shares;
  std::size_t layers_shown = 0;  // of each seed, largest first
};

// tolaria.grad_agg.* of the host ("TEACHER"), of each seed, and in total; kasmina.isolation.violations.
void add_seed_gradients(std::vector<leyline::MetricValue>& out, const kasmina::Network& network,
                        const step::StepMetrics& metrics, std::span<const leyline::SeedState> seeds,
                        const GradientView& gradients);

// kasmina.seed.isolation.* of one seed.
void add_isolation(std::vector<leyline::MetricValue>& out, const step::StepMetrics& metrics,
                   const leyline::SeedState& seed);

// Emits each growing seed's values in one event, and a warning for each that exceeds its limit.
void warn_of_seeds(Outbox& outbox, const config::AggregationConfig& limits, const GradientShares& shares,
                   const step::StepMetrics& metrics, std::span<const leyline::SeedState> seeds);

}  // namespace esper::tolaria
