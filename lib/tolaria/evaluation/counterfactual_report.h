#pragma once
// The counterfactual measurement in the epoch's packet.

#include <vector>

#include "leyline/telemetry/telemetry_packet.h"
#include "tolaria/evaluation/counterfactual.h"

namespace esper::tolaria {

// The metrics of the run and of pairs; those of single seeds are in the seeds' own packets. Nothing if nothing was
// measured.
void add_counterfactual(std::vector<leyline::MetricValue>& out, const Counterfactual& measured);

// The event of a measurement that was stopped at its deadline.
leyline::TelemetryEvent late_counterfactual(const Counterfactual& measured, std::uint32_t epoch,
                                            base::Duration deadline);

// The event of a measurement that the budget limited. measured.limit is set.
leyline::TelemetryEvent limited_counterfactual(const Counterfactual& measured, std::uint32_t epoch,
                                               int max_configurations);

}  // namespace esper::tolaria
