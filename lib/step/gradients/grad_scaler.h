#pragma once
// Loss scaling for fp16 (PyTorch's GradScaler): the loss is multiplied before the backward pass so that small gradients
// survive, gradients are divided once per step, and a step with a non-finite gradient is undone and lowers the scale.
// bf16 and fp32 have the range they need; a run that goes over to fp32 keeps its scale, as part of its state. Nothing
// here reads the device.

#include <torch/types.h>

#include <functional>
#include <string>
#include <vector>

#include "config/training_config.h"
#include "kasmina/tensor/tensor_table.h"

namespace esper::step {

// Undefined tensors where nothing is scaled.
struct LossScale {
  config::GradScalerConfig config;
  torch::Tensor scale;           // 0-dim float32
  torch::Tensor growth_tracker;  // 0-dim int32: steps since the last change
  torch::Tensor found_inf;       // 0-dim float32: 1 after a step with a non-finite gradient, else 0
  bool enabled() const { return scale.defined(); }
};

// An enabled one.
LossScale make_loss_scale(const config::GradScalerConfig& config, torch::Device device);
// `whose`: appended to the names; empty, or "." and a group's id.
void append_named(const LossScale& loss_scale, const std::string& whose, std::vector<kasmina::NamedTensor>& out);

// The factor times the scale; the factor itself where nothing is scaled.
torch::Tensor scaled(const torch::Tensor& factor, const LossScale& loss_scale);
// Divides the gradients by the scale; sets found_inf for this step.
void unscale(const LossScale& loss_scale, torch::TensorList gradients);
// Runs update; where found_inf is set, every tensor of `written` then has the bits from before. Costs one copy of them.
void keep_if_finite(const LossScale& loss_scale, torch::TensorList written, const std::function<void()>& update);
// Raises or lowers the scale after a step.
void update_scale(const LossScale& loss_scale);

}  // namespace esper::step
