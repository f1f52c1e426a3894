#pragma once
// The tensors of a step as a recording, a comparison and a compiled program need them. Training thread.

#include <span>
#include <vector>

#include "device/rng.h"
#include "program/check.h"
#include "program/recorder.h"
#include "step/model.h"
#include "step/train_step.h"

namespace esper::lanes {

// Every piece of memory that the step touches: state, buffers, seed scalars, and the batch as "batch.<i>.inputs" and
// "batch.<i>.targets". A seed is "seed.1" for the oldest one that lives, and so on (SeedAliases): the step's program
// does not depend on how many seeds there were before.
std::vector<program::ExternalTensor> step_external_tensors(const step::Model& model,
                                                           std::span<const step::Microbatch> microbatches);

// What a step may change, by parameter: for telling where two steps differ.
std::vector<program::Tracked> tracked_tensors(const step::Model& model);

// All that a step may change, as it is now; restore() puts it back, random number generators included.
class StepSnapshot {
 public:
  StepSnapshot(const step::Model& model, torch::Device device);
  void restore() const;
  std::int64_t bytes() const;

 private:
  torch::Device device_;
  std::vector<torch::Tensor> tensors_, saved_;
  device::RngState rng_;
};

}  // namespace esper::lanes
