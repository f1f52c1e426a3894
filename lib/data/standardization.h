#pragma once
#include <torch/types.h>

#include <vector>

#include "leyline/blueprint/sample_shape.h"

namespace esper::data {

// Inputs become (x - mean) / deviation, x being value / 255 for uint8 pixels and the value itself for floats. One entry
// a channel (images) or a feature. Empty: x as it is. The targets of a regression likewise, one entry a target.
struct Standardization {
  std::vector<float> mean, deviation;
  std::vector<float> target_mean = {}, target_deviation = {};
  bool operator==(const Standardization&) const = default;
};

// Population mean and deviation of inputs [N, F] or [N, C, H, W], summed in double precision; a deviation of zero
// counts as 1.
Standardization measure(const torch::Tensor& inputs, const leyline::SampleShape& shape);

// The same of targets, float32 [N, K].
void measure_targets(const torch::Tensor& targets, Standardization& out);

// A network's outputs, float32 [B, ...], in the units of the targets in the data; as they are where it learned those.
torch::Tensor in_target_units(const Standardization& standardization, const torch::Tensor& outputs);

}  // namespace esper::data
