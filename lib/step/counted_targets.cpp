#include "step/counted_targets.h"

namespace esper::step {

CountedTargets::CountedTargets(const StepState& state) {
  if (!state.loss_scale.enabled()) return;
  targets_ = state.metrics.counts[1].clone();
  correct_ = state.metrics.correct.clone();
}

void CountedTargets::leave_out_overflow(StepState& state) const {
  if (!targets_.defined()) return;
  torch::Tensor &loss = state.figures.figure[kLoss], &correct = state.metrics.correct;
  torch::Tensor targets = state.metrics.counts[1];
  const torch::Tensor is_finite = at::lt(loss.abs(), state.figures.infinity);
  at::where_out(targets, is_finite, targets, targets_);
  at::where_out(correct, is_finite, correct, correct_);
  at::nan_to_num_out(loss, loss, 0, 0, 0);
}

}  // namespace esper::step
