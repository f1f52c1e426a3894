#include "step/ema.h"

#include "device/asynchronous_error.h"

namespace esper::step {

void update_averages(GroupState& group, const StepSettings& settings) {
  const double weight = 1 - settings.ema_decay;
  if (settings.optimizer.foreach) {
    group.averages.flat.lerp_(group.parameters.flat, weight);
    return;
  }
  for (std::size_t i = 0; i < group.averages.views.size(); ++i) {
    group.averages.views[i].lerp_(group.parameters.views[i], weight);
  }
}

void restart_averages(StepState& state) {
  const at::NoGradGuard no_grad;
  for (GroupState& group : state.groups) {
    if (group.averages.defined()) group.averages.flat.copy_(group.parameters.flat);
  }
}

EmaScope::EmaScope(StepState& state) {
  at::NoGradGuard no_grad;
  for (const GroupState& group : state.groups) {
    if (!group.averages.defined()) continue;
    parameters_.push_back(group.parameters.flat);
    saved_.push_back(group.parameters.flat.clone());
  }
  // Nothing is overwritten before all has the memory to be put back.
  for (const GroupState& group : state.groups) {
    if (group.averages.defined()) group.parameters.flat.copy_(group.averages.flat);
  }
}

EmaScope::~EmaScope() {
  at::NoGradGuard no_grad;
  device::put_back([&] {
    for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].copy_(saved_[i]);
  });
}

}  // namespace esper::step
