#pragma once
// The counterfactual measurement in the epoch's packet.

#include <vector>

#include "leyline/telemetry_packet.h"
#include "tolaria/evaluation/counterfactual.h"

namespace esper::tolaria {

// What belongs to the run and to pairs; single seeds report theirs in their own packets. Nothing where nothing was
// measured.
void add_counterfactual(std::vector<leyline::MetricValue>& out, const Counterfactual& measured);

// A measurement that was given up at its deadline.
leyline::TelemetryEvent late_counterfactual(const Counterfactual& measured, std::uint32_t epoch,
                                            base::Duration deadline);

}  // namespace esper::tolaria
