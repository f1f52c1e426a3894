#pragma once
// What the heads answer, as tensors. Any thread.

#include <ATen/core/Tensor.h>

#include <vector>

#include "tamiyo/graph/policy_outputs.h"

namespace esper::tamiyo {

struct HeadTensors {
  at::Tensor policy_logits;                  // [kPolicyActions]
  at::Tensor policy_params;                  // [kPolicyParams], in (-1, 1)
  at::Tensor blending_logits;                // [kBlendingMethods]
  at::Tensor schedule;                       // [kScheduleParams]: start <= end, in [0, 1]
  at::Tensor risk_logits;                    // [kRiskLevels]
  at::Tensor value;                          // [1]
  at::Tensor breaker_logits;                 // [kBreakerStates]
  at::Tensor seed_scores, blueprint_scores;  // [nodes]
};

// Waits for the device where they are on one.
PolicyOutputs to_outputs(const HeadTensors& heads);

// All numbers: the value, then the heads in the order above, then the scores.
std::vector<float> flat(const PolicyOutputs& outputs);

}  // namespace esper::tamiyo
