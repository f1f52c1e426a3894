#pragma once
// Compares what the network answers.

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/policy_graphs.h"
#include "tamiyo/graph/policy_outputs.h"

namespace esper::test {

inline std::vector<float> flat(const tamiyo::PolicyOutputs& outputs) {
  std::vector<float> values = {outputs.value};
  const auto add = [&values](const auto& more) { values.insert(values.end(), more.begin(), more.end()); };
  add(outputs.policy_logits);
  add(outputs.policy_params);
  add(outputs.blending_logits);
  add(outputs.schedule);
  add(outputs.risk_logits);
  add(outputs.breaker_logits);
  add(outputs.seed_scores);
  add(outputs.blueprint_scores);
  return values;
}

// Infinite where they have different numbers of nodes, or something is not a number.
inline double largest_difference(const tamiyo::PolicyOutputs& a, const tamiyo::PolicyOutputs& b) {
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
  static const tamiyo::Weights kWeights = dense_weights();
  return kWeights;
}

}  // namespace esper::test
