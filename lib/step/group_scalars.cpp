#include "step/group_scalars.h"

#include <cmath>

#include "step/optimizer.h"

namespace esper::step {
namespace {

using config::OptimizerConfig;

torch::Tensor log_betas(const OptimizerConfig& config, torch::Device device) {
  torch::Tensor logs = at::empty({2, 1}, torch::kFloat32);
  logs[0].fill_(std::log(config.beta1));
  logs[1].fill_(std::log(config.beta2));
  return logs.to(device);
}

}  // namespace

GroupScalars make_group_scalars(const OptimizerConfig& config, std::size_t groups, torch::Device device) {
  constexpr std::int64_t kRows = 5;
  const auto options = torch::dtype(torch::kFloat32).device(device);
  const auto count = static_cast<std::int64_t>(groups);
  const bool is_adaptive = optimizer_of(config.kind).is_adaptive;
  GroupScalars scalars;
  scalars.lr_scales = at::ones({count}, options);
  scalars.scratch = at::zeros({is_adaptive ? kRows : 1, count}, options);
  scalars.rates = scalars.scratch[0];
  if (!is_adaptive) return scalars;
  scalars.steps = at::zeros({count}, options);
  scalars.log_betas = log_betas(config, device);
  scalars.corrections = scalars.scratch.narrow(0, 1, 2);
  scalars.correction1 = scalars.scratch[1];
  scalars.root2 = scalars.scratch[2];
  scalars.eps = scalars.scratch[3];
  scalars.decay = scalars.scratch[4];
  return scalars;
}

// Bias corrections 1 - beta^step as -expm1(step * ln beta): in float32 the plain form loses half its digits while step
// is small.
void update_scalars(GroupScalars& scalars, const torch::Tensor& lr, const OptimizerConfig& config) {
  at::mul_out(scalars.rates, lr, scalars.lr_scales);
  if (!optimizer_of(config.kind).is_adaptive) return;
  if (config.weight_decay != 0) at::mul_out(scalars.decay, scalars.rates, -config.weight_decay).add_(1);
  scalars.steps.add_(1);
  at::mul_out(scalars.corrections, scalars.log_betas, scalars.steps).expm1_().neg_();
  scalars.root2.sqrt_();
  at::mul_out(scalars.eps, scalars.root2, config.eps);
  scalars.rates.mul_(scalars.root2).div_(scalars.correction1);
  // The host's own rate is never scaled to zero.
  if (scalars.steps.numel() > 1) scalars.steps.add_(scalars.lr_scales.eq(0), -1);
}

}  // namespace esper::step
