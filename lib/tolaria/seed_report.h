#pragma once
// What an epoch's steps showed of the seeds' gradients, as metrics and warnings. Training thread.

#include <span>

#include "leyline/seed.h"
#include "leyline/telemetry_packet.h"
#include "tolaria/run.h"
#include "tolaria/step_metrics.h"

namespace esper::tolaria {

// tolaria.grad_agg.* of the host ("TEACHER"), of each seed, and of all; kasmina.isolation.violations. Warnings go to
// run.events.
void report_seed_gradients(leyline::TelemetryPacket& packet, Run& run, const StepMetrics& metrics,
                           std::span<const leyline::SeedState> seeds);

// kasmina.seed.isolation.* of one seed.
void add_isolation(leyline::TelemetryPacket& packet, const StepMetrics& metrics, const leyline::SeedState& seed);

}  // namespace esper::tolaria
