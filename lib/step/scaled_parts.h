#pragma once
// The parts of a step in fp16 that are scaled, and skipped, each by itself: a seed in the shadow, whose overflow is
// nobody else's, and all others together. Without a loss scale there are none. Nothing here reads the device.

#include <functional>
#include <span>
#include <vector>

#include "step/step_state.h"

namespace esper::step {

struct ScaledPart {
  const LossScale* loss_scale;            // the state's
  std::vector<torch::Tensor> gradients;   // parts of StepState::gradients
  std::vector<torch::Tensor> statistics;  // what the forward writes: StepState::statistics
  std::vector<torch::Tensor> written;     // what the update writes
};

// All others first. Valid until the state's groups change.
std::vector<ScaledPart> scaled_parts(const StepState& state);

// Where the gradient of a seed in the shadow overflows it becomes zero, so that norms and clipping go on without it.
void unscale(std::span<const ScaledPart> parts);
// Runs what writes these tensors of the parts. It lasts in each part whose gradients are finite; whether they are may
// be found out by the run itself.
using WrittenTensors = std::vector<torch::Tensor> ScaledPart::*;
void keep_finite_parts(std::span<const ScaledPart> parts, WrittenTensors tensors, const std::function<void()>& run);
// Grows or halves each scale after a step.
void update_scales(std::span<const ScaledPart> parts);

}  // namespace esper::step
