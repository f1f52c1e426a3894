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
  // Gradients that overflow with so small a loss scale overflow with any: 65536, with which PyTorch's scaler begins,
  // halved 24 times.
  static constexpr float kLeastScale = 1.0F / 256;

  // Watches the steps from now on. Not on a GPU, whose sums are read at the end of an epoch.
  void begin(const StepState& state);
  // After a step: whether its loss or its gradient norm is not finite. With a loss scale such a step changes nothing,
  // and is ordinary: there its inputs, parameters or buffers have to be not finite, or the scale has to be at its end.
  bool trips(const StepState& state, std::span<const Microbatch> microbatches) {
    return is_on_ && (bad_steps(state) != seen_ || !has_finite_loss(state)) && is_trouble(state, microbatches);
  }
  static bool is_scale_at_its_end(const StepState& state);

 private:
  bool is_trouble(const StepState& state, std::span<const Microbatch> microbatches);
  static std::int64_t bad_steps(const StepState& state);
  static bool has_finite_loss(const StepState& state);

  bool is_on_ = false, scales_ = false;
  std::int64_t seen_ = 0;
};

// The first tensor of the step's inputs, or else of the state, that holds a number which is not finite:
// "batch.0.inputs", "host.head.weight". Empty: all are finite. Waits for the device.
std::string first_not_finite(const StepState& state, std::span<const Microbatch> microbatches);

}  // namespace esper::step
