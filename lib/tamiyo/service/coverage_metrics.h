#pragma once
// Which share of its inputs a policy had, by family, as metrics. Pure functions.

#include <vector>

#include "leyline/assessment.h"
#include "leyline/telemetry/telemetry_packet.h"

namespace esper::tamiyo {

// Families that the telemetry table does not know are left out.
void add_family_coverage(std::vector<leyline::MetricValue>& out, const leyline::Assessment& assessment);

}  // namespace esper::tamiyo
