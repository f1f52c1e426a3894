#pragma once
// A warning that a loss scale of fp16 is of little use: below 1 it makes gradients smaller, and small ones become zero.

#include <cstdint>
#include <vector>

#include "leyline/telemetry/telemetry_packet.h"
#include "step/step_metrics.h"
#include "step/step_settings.h"

namespace esper::tolaria {

// epoch: from 1; steps: of it, all or so far. One for the network where steps were skipped and its scale is below 1,
// or below training.grad_scaler.init_scale where that is less. One for each seed in the shadow, whose own skips no
// figure counts, whose scale is below that and below the network's; it has the attribute seed_id.
std::vector<leyline::TelemetryEvent> low_scale_warnings(const step::StepSettings& settings, std::uint32_t epoch,
                                                        const step::StepMetrics& steps);

}  // namespace esper::tolaria
