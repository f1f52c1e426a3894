#include "step/optimizer.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace esper::step {

using config::OptimizerConfig;
using config::OptimizerKind;

namespace {

// parameter -= rate * direction. The gradient is scratch by now, and may be the direction.
void descend(const UpdateOperands& of, const torch::Tensor& direction, const torch::Tensor& rate) {
  if (!of.factors.lr.defined()) {
    of.parameter.addcmul_(direction, rate, -1);
    return;
  }
  torch::Tensor scaled = of.gradient;
  at::mul_out(scaled, direction, of.factors.lr);
  of.parameter.addcmul_(scaled, rate, -1);
}

// As gradient += weight_decay * parameter.
void add_penalty(const UpdateOperands& of, const OptimizerConfig& config) {
  if (of.factors.decay.defined()) {
    of.gradient.addcmul_(of.parameter, of.factors.decay);
  } else if (config.weight_decay != 0) {
    of.gradient.add_(of.parameter, config.weight_decay);
  }
}

// parameter *= 1 - rate * weight_decay, the rate without bias correction.
void decay(const UpdateOperands& of, const GroupState& group, const OptimizerConfig& config) {
  if (of.factors.decay.defined()) {
    of.parameter.addcmul_(at::mul(of.parameter, of.factors.decay), at::mul(group.lr, group.lr_scale), -1);
  } else if (config.weight_decay != 0) {
    of.parameter.mul_(group.decay);
  }
}

void sgd(const UpdateOperands& of, const GroupState& group, const OptimizerConfig& config) {
  add_penalty(of, config);
  if (config.momentum == 0) return descend(of, of.gradient, group.rate);
  // One pass over the long tensors where multiplying and adding take two, and one rounding.
  torch::Tensor moment = of.first_moment;
  at::add_out(moment, of.gradient, moment, config.momentum);
  if (!config.nesterov) return descend(of, of.first_moment, group.rate);
  of.gradient.add_(of.first_moment, config.momentum);
  descend(of, of.gradient, group.rate);
}

// rate / c1 * m / (sqrt(v / c2) + eps), with c1 and c2 the bias corrections. sqrt(c2) is moved out of the root, so that
// the long tensors see one operation less.
void adamw(const UpdateOperands& of, const GroupState& group, const OptimizerConfig& config) {
  const torch::Tensor &m = of.first_moment, &v = of.second_moment;
  torch::Tensor direction = of.gradient;
  decay(of, group, config);
  m.lerp_(of.gradient, 1 - config.beta1);
  v.mul_(config.beta2).addcmul_(of.gradient, of.gradient, 1 - config.beta2);
  at::sqrt_out(direction, v).add_(group.eps);
  at::div_out(direction, m, direction);
  descend(of, direction, group.rate);
}

constexpr std::array kOptimizers{
    Optimizer{.kind = OptimizerKind::kSgd, .is_adaptive = false, .family_index = 0, .update = sgd},
    Optimizer{.kind = OptimizerKind::kAdamw, .is_adaptive = true, .family_index = 2, .update = adamw},
};
static_assert(kOptimizers.size() == names(OptimizerKind{}).size());

FlatTensors factor_views(const torch::Tensor& factors, const FlatTensors& parameters) {
  return factors.defined() ? lay_out(factors, parameters.views) : FlatTensors();
}

}  // namespace

const Optimizer& optimizer_of(OptimizerKind kind) {
  const auto* found = std::ranges::find(kOptimizers, kind, &Optimizer::kind);
  ESPER_CHECK(found != kOptimizers.end(), "an optimizer without a row");
  return *found;
}

bool keeps_first_moments(const OptimizerConfig& config) {
  return optimizer_of(config.kind).is_adaptive || config.momentum != 0;
}

bool keeps_second_moments(const OptimizerConfig& config) { return optimizer_of(config.kind).is_adaptive; }

void update_parameters(GroupState& group, const OptimizerConfig& config) {
  const auto update = optimizer_of(config.kind).update;
  if (config.foreach) {
    return update({group.parameters.flat, group.gradients.flat, group.first_moments.flat, group.second_moments.flat,
                   group.factors},
                  group, config);
  }
  const auto rates = factor_views(group.factors.lr, group.parameters);
  const auto decays = factor_views(group.factors.decay, group.parameters);
  for (std::size_t i = 0; i < group.parameters.views.size(); ++i) {
    update({group.parameters.views[i],
            group.gradients.views[i],
            view_of(group.first_moments, i),
            view_of(group.second_moments, i),
            {view_of(rates, i), view_of(decays, i)}},
           group, config);
  }
}

}  // namespace esper::step
