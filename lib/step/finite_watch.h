#pragma once
// Notices that the numbers of a step are not finite: the sums of the epoch (step/step_metrics.h) show it, in every
// lane. On the CPU they are in this process's memory; on a GPU each look waits for the steps so far. Training thread.

#include <cstdint>
#include <span>
#include <string>

#include "kasmina/tensor/tensor_table.h"
#include "step/step_state.h"
#include "step/train_step.h"

namespace esper::step {

// The first of the step's inputs, or else of the tensors, that holds a number which is not finite: "batch.0.inputs",
// "host.head.weight". Sums for metrics do not count. Empty: all are finite. Waits for the device.
std::string first_not_finite(std::span<const kasmina::NamedTensor> tensors, std::span<const Microbatch> microbatches);

class FiniteWatch {
 public:
  // What gradients that overflow mean: a failure, or (fp16 with dynamic loss scaling) a step that the scaler skips and
  // answers with a smaller scale.
  enum class Overflow { kFailure, kOrdinary };

  // Watches the steps from now on.
  void begin(const StepState& state, Overflow overflow);
  // After one step or several: whether the loss or the gradient norm of one is not finite. Where overflows are
  // ordinary, that counts only if bad_tensor(), which is first_not_finite() of the whole model and the batch, names
  // something, or if is_scale_at_its_end().
  template <class BadTensor>
  bool trips(const StepState& state, const BadTensor& bad_tensor) {
    const Look look = look_at(state.metrics);
    if (look.bad_steps == seen_ && look.has_finite_loss) return false;
    if (overflow_ == Overflow::kFailure) return true;
    seen_ = look.bad_steps;
    return is_scale_at_its_end(state) || !bad_tensor().empty();
  }
  // Whether the loss scale is no more than a 256th of 1, or of training.grad_scaler.init_scale where that is below 1:
  // gradients that still overflow with it are not finite without a scale either.
  static bool is_scale_at_its_end(const StepState& state);

 private:
  struct Look {
    std::int64_t bad_steps = 0;
    bool has_finite_loss = true;  // false also where the sums are spoilt
  };
  static Look look_at(const MetricSums& metrics);

  Overflow overflow_ = Overflow::kFailure;
  std::int64_t seen_ = 0;
};

}  // namespace esper::step
