#pragma once
// The network's weights: named float32 tensors on the CPU. Any thread.

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace esper::tamiyo {

// Complete: every name of network_tensors(), each of its shape, contiguous.
using Weights = std::map<std::string, at::Tensor>;

// 16 hexadecimal digits of all their bytes. Names are in order, and shapes follow from them.
std::string fingerprint(const Weights& weights);

}  // namespace esper::tamiyo
