#include "step/optimizer.h"

namespace esper::step {
namespace {

using config::OptimizerConfig;

// The tensors of one call: of a whole group, or of one parameter. Moments that are not kept are undefined.
struct Operands {
  torch::Tensor parameter, gradient, first_moment, second_moment;
};

// parameter -= rate * direction.
void descend(const Operands& of, const torch::Tensor& direction, const torch::Tensor& rate) {
  of.parameter.addcmul_(direction, rate, -1);
}

void sgd(const Operands& of, const GroupState& group, const OptimizerConfig& config) {
  if (config.weight_decay != 0) of.gradient.add_(of.parameter, config.weight_decay);
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
void adamw(const Operands& of, const GroupState& group, const OptimizerConfig& config) {
  const torch::Tensor &m = of.first_moment, &v = of.second_moment;
  torch::Tensor direction = of.gradient;
  if (config.weight_decay != 0) of.parameter.mul_(group.decay);
  m.lerp_(of.gradient, 1 - config.beta1);
  v.mul_(config.beta2).addcmul_(of.gradient, of.gradient, 1 - config.beta2);
  at::sqrt_out(direction, v).add_(group.eps);
  at::div_out(direction, m, direction);
  descend(of, direction, group.rate);
}

void update(const Operands& of, const GroupState& group, const OptimizerConfig& config) {
  if (config.kind == config::OptimizerKind::kSgd) {
    sgd(of, group, config);
  } else {
    adamw(of, group, config);
  }
}

}  // namespace

void update_parameters(GroupState& group, const OptimizerConfig& config) {
  if (config.foreach) {
    return update({group.parameters.flat, group.gradients.flat, group.first_moments.flat, group.second_moments.flat},
                  group, config);
  }
  for (std::size_t i = 0; i < group.parameters.views.size(); ++i) {
    update({group.parameters.views[i], group.gradients.views[i], view_of(group.first_moments, i),
            view_of(group.second_moments, i)},
           group, config);
  }
}

}  // namespace esper::step
