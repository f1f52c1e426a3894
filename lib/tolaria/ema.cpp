#include "tolaria/ema.h"

namespace esper::tolaria {

void update_averages(GroupState& group, double decay) {
  at::_foreach_lerp_(group.averages.views, group.parameters, 1 - decay);
}

EmaScope::EmaScope(StepState& state) {
  at::NoGradGuard no_grad;
  for (const GroupState& group : state.groups) {
    for (std::size_t i = 0; i < group.averages.views.size(); ++i) {
      parameters_.push_back(group.parameters[i]);
      saved_.push_back(group.parameters[i].detach().clone());
      parameters_.back().copy_(group.averages.views[i]);
    }
  }
}

EmaScope::~EmaScope() {
  at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].copy_(saved_[i]);
}

}  // namespace esper::tolaria
