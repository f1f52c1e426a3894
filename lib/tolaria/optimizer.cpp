#include "tolaria/optimizer.h"

#include <algorithm>
#include <cmath>

namespace esper::tolaria {
namespace {

using leyline::OptimizerConfig;

// The parallel lists of one update; every gradient is defined.
struct Lists {
  torch::TensorList parameters, first_moments, second_moments, gradients;
};

// parameters -= rate * direction. On the CPU a foreach call is a loop of single ones, so the fewest are best; on CUDA
// only operands of equal shape share a kernel.
void descend(torch::TensorList parameters, torch::TensorList direction, const torch::Tensor& rate) {
  if (rate.is_cpu()) {
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].addcmul_(direction[i], rate, -1);
    return;
  }
  at::_foreach_add_(parameters, at::_foreach_mul(direction, rate), -1);
}

void sgd(const Lists& lists, const torch::Tensor& rate, const OptimizerConfig& config) {
  torch::TensorList direction = lists.gradients;
  std::vector<torch::Tensor> decayed, ahead;
  if (config.weight_decay != 0) {
    decayed = at::_foreach_add(direction, lists.parameters, config.weight_decay);
    direction = decayed;
  }
  if (config.momentum != 0) {
    at::_foreach_mul_(lists.first_moments, config.momentum);
    at::_foreach_add_(lists.first_moments, direction);
    if (config.nesterov) ahead = at::_foreach_add(direction, lists.first_moments, config.momentum);
    direction = config.nesterov ? torch::TensorList(ahead) : lists.first_moments;
  }
  descend(lists.parameters, direction, rate);
}

// 1 - beta^step as -expm1(step * ln beta): in float32 the plain form loses half its digits while step is small.
torch::Tensor bias_correction(const torch::Tensor& step, double beta) {
  return step.mul(std::log(beta)).expm1_().neg_();
}

// p -= lr / c1 * m / (sqrt(v / c2) + eps), with c1, c2 the bias corrections and sqrt(c2) moved out of the list.
void adamw(const Lists& lists, const torch::Tensor& rate, const torch::Tensor& step, const OptimizerConfig& config) {
  if (config.weight_decay != 0) {
    at::_foreach_mul_(lists.parameters, rate.mul(-config.weight_decay).add_(1));
  }
  at::_foreach_lerp_(lists.first_moments, lists.gradients, 1 - config.beta1);
  at::_foreach_mul_(lists.second_moments, config.beta2);
  at::_foreach_addcmul_(lists.second_moments, lists.gradients, lists.gradients, 1 - config.beta2);

  const torch::Tensor root = bias_correction(step, config.beta2).sqrt_();
  std::vector<torch::Tensor> denominator = at::_foreach_sqrt(lists.second_moments);
  at::_foreach_add_(denominator, root.mul(config.eps));
  const std::vector<torch::Tensor> direction = at::_foreach_div(lists.first_moments, denominator);
  descend(lists.parameters, direction, rate.mul(root).div_(bias_correction(step, config.beta1)));
}

std::vector<torch::Tensor> where_used(torch::TensorList list, torch::TensorList gradients) {
  std::vector<torch::Tensor> used;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (gradients[i].defined()) used.push_back(list[i]);
  }
  return used;
}

void update_lists(GroupState& group, const Lists& lists, const torch::Tensor& rate, const OptimizerConfig& config) {
  if (config.kind == leyline::OptimizerKind::kSgd) {
    sgd(lists, rate, config);
  } else {
    adamw(lists, rate, group.step, config);
  }
}

}  // namespace

void update_parameters(GroupState& group, torch::TensorList gradients, const torch::Tensor& lr,
                       const OptimizerConfig& config) {
  group.step.add_(1);
  const torch::Tensor rate = lr.mul(group.lr_scale);
  if (std::all_of(gradients.begin(), gradients.end(), [](const torch::Tensor& g) { return g.defined(); })) {
    update_lists(group, {group.parameters, group.first_moments, group.second_moments, gradients}, rate, config);
    return;
  }
  const auto parameters = where_used(group.parameters, gradients), first = where_used(group.first_moments, gradients),
             second = where_used(group.second_moments, gradients), used = where_used(gradients, gradients);
  if (!used.empty()) update_lists(group, {parameters, first, second, used}, rate, config);
}

}  // namespace esper::tolaria
