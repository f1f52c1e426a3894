#pragma once
// Notices the step after which a run's numbers are not finite, at once and without a read of a device: the sums of the
// epoch (step/step_metrics.h) show it, in every lane, and on the CPU they are in this process's memory. Training
// thread.

#include <cstdint>
#include <span>
#include <string>

#include "step/step_state.h"
#include "step/train_step.h"

namespace esper::step {

class FiniteWatch {
 public:
  // Watches the steps from now on. Not on a GPU, whose sums are read at the end of an epoch, and not with fp16, where a
  // step whose gradients are not finite changes nothing.
  void begin(const StepState& state);
  // After a step: whether its loss or its gradient norm is not finite.
  bool is_tripped(const StepState& state) const {
    return is_on_ && (bad_steps(state) != seen_ || !has_finite_loss(state));
  }

 private:
  static std::int64_t bad_steps(const StepState& state);
  static bool has_finite_loss(const StepState& state);

  bool is_on_ = false;
  std::int64_t seen_ = 0;
};

// The first tensor of the step's inputs, or else of the state, that holds a number which is not finite:
// "batch.0.inputs", "host.head.weight". Empty: all are finite. Waits for the device.
std::string first_not_finite(const StepState& state, std::span<const Microbatch> microbatches);

}  // namespace esper::step
