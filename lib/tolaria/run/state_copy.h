#pragma once
// A copy of the model's state and of the random number generators' in the host's memory, to go back to and to save.
// Training thread.

#include <cstdint>
#include <vector>

#include "lanes/lane/step_external_tensors.h"
#include "step/model.h"

namespace esper::tolaria {

class StateCopy {
 public:
  // Borrows the model, whose structure stays as it is while the copy is used. Waits for the device.
  StateCopy(const step::Model& model, torch::Device device);

  // Writes back what a step may change.
  void restore() const { snapshot_.restore(); }
  std::int64_t bytes() const { return snapshot_.bytes(); }
  // What step::all_tensors() was then: parts of the copy, which nothing modifies and which outlive it. Does not touch
  // the device.
  std::vector<kasmina::NamedTensor> tensors() const;

 private:
  const step::Model& model_;
  const lanes::StepSnapshot snapshot_;
  const std::vector<kasmina::NamedTensor> scalars_;  // of seeds, which no step changes
};

}  // namespace esper::tolaria
