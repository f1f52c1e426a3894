#pragma once
// Steps of one lane against those of another, on any device.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lanes/prepared_lane.h"
#include "support/models/lane_cases.h"

namespace esper::tests {

inline std::vector<step::Microbatch> batches_on(torch::Device device, const LaneCase& c, int count,
                                                std::uint64_t seed = 3) {
  auto batches = make_batches(c, count, seed);
  for (auto& batch : batches) {
    batch.inputs = batch.inputs.to(device);
    batch.targets = batch.targets.to(device);
  }
  return batches;
}

// Of two models' states, by tensor relative to 1 and its largest magnitude.
inline double largest_difference(const step::Model& a, const step::Model& b) {
  double largest = 0;
  const auto left = step::named_tensors(a.state), right = step::named_tensors(b.state);
  for (std::size_t i = 0; i < left.size(); ++i) {
    const auto x = left[i].tensor.to(torch::kDouble), y = right[i].tensor.to(torch::kDouble);
    const double scale = 1 + x.abs().max().item<double>();
    largest = std::max(largest, (x - y).abs().max().item<double>() / scale);
  }
  return largest;
}

// Loss and gradient norm; the gradients themselves a graph keeps to itself.
inline torch::Tensor figures_of_a_step(step::Model& model, const lanes::PreparedLane& lane,
                                       const std::vector<step::Microbatch>& batches) {
  model.state.metrics.sums.zero_();
  lane.step(batches);
  return model.state.metrics.sums.clone();
}

}  // namespace esper::tests
