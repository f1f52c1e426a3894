#pragma once
// What aggregation works with follows the network's structure. Training thread.

#include <span>

#include "kasmina/tensor/parameter_group.h"
#include "step/step_settings.h"
#include "step/step_state.h"

namespace esper::step {

// Whether gradient surgery acts once there are enough seeds and microbatches.
bool uses_surgery(const config::AggregationConfig& config);

AggregationState make_aggregation(const AggregationSettings& settings, torch::Device device);
// After the state's groups changed; part of sync_groups.
void sync_aggregation(StepState& state, const AggregationSettings& settings,
                      std::span<const kasmina::ParameterGroup> groups);

}  // namespace esper::step
