#pragma once
// One seed as metrics, each with seed_id, slot, blueprint and stage. Any thread.

#include <vector>

#include "leyline/seed.h"
#include "leyline/telemetry/telemetry_packet.h"

namespace esper::tolaria {

// How a seed is: stage, alpha and size.
std::vector<leyline::MetricValue> seed_metrics(const leyline::SeedState& seed);
// What an epoch measured of a growing seed.
std::vector<leyline::MetricValue> measured_metrics(const leyline::SeedState& seed);

}  // namespace esper::tolaria
