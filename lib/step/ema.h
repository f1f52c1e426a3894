#pragma once
// Averaged parameters, which validation and the final model use: average = decay * average + (1 - decay) * parameter.

#include <torch/types.h>

#include <vector>

#include "step/step_settings.h"
#include "step/step_state.h"

namespace esper::step {

// One step of the average: one call, or one per parameter where the optimizer's `foreach` is false, which changes no
// bit. Call it without gradient recording.
void update_averages(GroupState& group, const StepSettings& settings);

// Resets the averages to the parameters' values.
void restart_averages(StepState& state);

// While it lives the parameters hold their averages; then they get back the very bits they had. The tensors stay the
// same objects. Without averages it does nothing. No step may run meanwhile.
class EmaScope {
 public:
  explicit EmaScope(StepState& state);
  ~EmaScope();
  EmaScope(const EmaScope&) = delete;
  EmaScope& operator=(const EmaScope&) = delete;

 private:
  std::vector<torch::Tensor> parameters_, saved_;  // flat, per group
};

}  // namespace esper::step
