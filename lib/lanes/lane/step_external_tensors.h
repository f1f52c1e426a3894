#pragma once
// The tensors of a step, as a recording, a comparison and a compiled program need them. Training thread.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "device/rng.h"
#include "program/check.h"
#include "program/recorder.h"
#include "step/model.h"
#include "step/train_step.h"

namespace esper::lanes {

// Every tensor that the step touches: state, buffers, seed scalars, and the batch as "batch.<i>.inputs" and
// "batch.<i>.targets". Seeds are named "seed.1" for the oldest living one, and so on (SeedAliases), so the step's
// program does not depend on how many seeds there were before.
std::vector<program::ExternalTensor> step_external_tensors(const step::Model& model,
                                                           std::span<const step::Microbatch> microbatches);

// The tensors that a step may change, by parameter: locates where two steps differ.
std::vector<program::Tracked> tracked_tensors(const step::Model& model);

// A copy of everything that a step may change; restore() writes it back, random number generators included.
class StepSnapshot {
 public:
  // Beside each tensor.
  StepSnapshot(const step::Model& model, torch::Device device);
  // Where `copy` puts them: one copy for each of the tensors, contiguous.
  using CopyTensors = std::function<std::vector<torch::Tensor>(const std::vector<torch::Tensor>&)>;
  StepSnapshot(const step::Model& model, torch::Device device, const CopyTensors& copy);
  void restore() const;
  std::int64_t bytes() const;
  // The saved values of a tensor that a step may change, or of a part of one: a view.
  torch::Tensor saved(const torch::Tensor& tensor) const;
  const device::RngState& rng() const { return rng_; }

 private:
  torch::Device device_;
  std::vector<torch::Tensor> tensors_, saved_;
  device::RngState rng_;
};

}  // namespace esper::lanes
