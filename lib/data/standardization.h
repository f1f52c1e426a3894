#pragma once
#include <torch/types.h>

#include <vector>

#include "leyline/blueprint/sample_shape.h"

namespace esper::data {

// Inputs become (x - mean) / deviation, x being value / 255 for uint8 pixels and the value itself for floats. One entry
// a channel (images) or a feature. Empty: x as it is.
struct Standardization {
  std::vector<float> mean, deviation;
  bool operator==(const Standardization&) const = default;
};

// Population mean and deviation of inputs [N, F] or [N, C, H, W], summed in double precision; a deviation of zero
// counts as 1.
Standardization measure(const torch::Tensor& inputs, const leyline::SampleShape& shape);

}  // namespace esper::data
