#pragma once
// Compares what the network answers.

#include <algorithm>
#include <cmath>
#include <vector>

#include "tamiyo/network/head_tensors.h"
#include "tamiyo/network/sample_graphs.h"

namespace esper::test {

using tamiyo::flat;

// Infinite where they have different numbers of nodes, or something is not a number.
inline double largest_output_difference(const tamiyo::PolicyOutputs& a, const tamiyo::PolicyOutputs& b) {
  const std::vector<float> left = flat(a), right = flat(b);
  if (left.size() != right.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double difference = std::abs(static_cast<double>(left[i]) - right[i]);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

inline const tamiyo::Weights& shared_weights() {
  static const tamiyo::Weights kWeights = tamiyo::dense_weights();
  return kWeights;
}

}  // namespace esper::test
