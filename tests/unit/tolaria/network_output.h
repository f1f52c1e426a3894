#pragma once
// What a growing network computes on its probe batch, with live and with averaged parameters.

#include "step/ema.h"
#include "support/models/growing_model.h"

namespace esper::tests {

inline torch::Tensor output_of(const GrowingModel& grown) {
  const at::NoGradGuard no_grad;
  return grown.model->network.forward(grown.probe, kasmina::Mode::kEvaluate).clone();
}

inline torch::Tensor averaged_output_of(GrowingModel& grown) {
  const step::EmaScope averaged(grown.model->state);
  return output_of(grown);
}

// The largest difference, relative to the largest value of b.
inline double relative_change(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

}  // namespace esper::tests
