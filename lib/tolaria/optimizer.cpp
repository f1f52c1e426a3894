#include "tolaria/optimizer.h"

#include <cmath>

namespace esper::tolaria {
namespace {

using leyline::OptimizerConfig;

// parameters -= rate * direction. The CPU runs one operation per parameter in any case, so it takes the one that reads
// the direction once; CUDA shares one kernel among all, but only for operands of equal shape.
void descend(GroupState& group, const FlatTensors& direction, const torch::Tensor& rate) {
  if (rate.is_cpu()) {
    for (std::size_t i = 0; i < group.parameters.size(); ++i) {
      group.parameters[i].addcmul_(direction.views[i], rate, -1);
    }
    return;
  }
  at::mul_out(group.gradients.flat, direction.flat, rate);
  at::_foreach_sub_(group.parameters, group.gradients.views);
}

void sgd(GroupState& group, const OptimizerConfig& config) {
  torch::Tensor& gradient = group.gradients.flat;
  if (config.weight_decay != 0) at::_foreach_add_(group.gradients.views, group.parameters, config.weight_decay);
  if (config.momentum == 0) return descend(group, group.gradients, group.rate);
  torch::Tensor& buffer = group.first_moments.flat;
  buffer.mul_(config.momentum).add_(gradient);
  if (!config.nesterov) return descend(group, group.first_moments, group.rate);
  gradient.add_(buffer, config.momentum);
  descend(group, group.gradients, group.rate);
}

// 1 - beta^step as -expm1(step * ln beta): in float32 the plain form loses half its digits while step is small.
torch::Tensor bias_correction(const torch::Tensor& step, double beta) {
  return step.mul(std::log(beta)).expm1_().neg_();
}

// rate / c1 * m / (sqrt(v / c2) + eps), with c1 and c2 the bias corrections. sqrt(c2) is moved out of the root, so that
// the long tensors see one operation less.
void adamw(GroupState& group, const OptimizerConfig& config) {
  group.step.add_(1);
  torch::Tensor &gradient = group.gradients.flat, &m = group.first_moments.flat, &v = group.second_moments.flat;
  if (config.weight_decay != 0) {
    at::_foreach_mul_(group.parameters, group.rate.mul(-config.weight_decay).add_(1));
  }
  m.lerp_(gradient, 1 - config.beta1);
  v.mul_(config.beta2).addcmul_(gradient, gradient, 1 - config.beta2);
  const torch::Tensor root = bias_correction(group.step, config.beta2).sqrt_();
  at::sqrt_out(gradient, v).add_(root.mul(config.eps));
  at::div_out(gradient, m, gradient);
  descend(group, group.gradients, group.rate.mul(root).div_(bias_correction(group.step, config.beta1)));
}

}  // namespace

void update_parameters(GroupState& group, const torch::Tensor& lr, const OptimizerConfig& config) {
  at::mul_out(group.rate, lr, group.lr_scale);
  if (config.kind == leyline::OptimizerKind::kSgd) {
    sgd(group, config);
  } else {
    adamw(group, config);
  }
}

}  // namespace esper::tolaria
