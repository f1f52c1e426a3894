#include "step/gradients/grad_scaler.h"

namespace esper::step {

LossScale make_loss_scale(const config::GradScalerConfig& config, torch::Device device) {
  LossScale result;
  result.config = config;
  const auto options = torch::dtype(torch::kFloat32).device(device);
  result.scale = at::full({}, config.init_scale, options);
  result.growth_tracker = at::zeros({}, options.dtype(torch::kInt32));
  result.found_inf = at::zeros({}, options);
  return result;
}

void append_named(const LossScale& loss_scale, const std::string& whose, std::vector<kasmina::NamedTensor>& out) {
  if (!loss_scale.enabled()) return;
  out.push_back({"scaler.scale" + whose, loss_scale.scale});
  out.push_back({"scaler.growth_tracker" + whose, loss_scale.growth_tracker});
}

torch::Tensor scaled(const torch::Tensor& factor, const LossScale& loss_scale) {
  return loss_scale.enabled() ? factor.mul(loss_scale.scale) : factor;
}

void unscale(const LossScale& loss_scale, torch::TensorList gradients) {
  torch::Tensor found_inf = loss_scale.found_inf;
  found_inf.zero_();
  const torch::Tensor inverse = loss_scale.scale.reciprocal();
  // Sets found_inf, never clears it.
  for (const torch::Tensor& gradient : gradients) {
    at::_amp_foreach_non_finite_check_and_unscale_(gradient, found_inf, inverse);
  }
}

void keep_if_finite(const LossScale& loss_scale, torch::TensorList written, const std::function<void()>& update) {
  std::vector<torch::Tensor> before;
  before.reserve(written.size());
  for (const torch::Tensor& tensor : written) before.push_back(tensor.detach().clone());
  update();
  const torch::Tensor skip = loss_scale.found_inf.to(torch::kBool);
  for (std::size_t i = 0; i < written.size(); ++i) {
    torch::Tensor target = written[i].detach();
    at::where_out(target, skip, before[i], target);
  }
}

void update_scale(const LossScale& loss_scale) {
  const config::GradScalerConfig& config = loss_scale.config;
  torch::Tensor scale = loss_scale.scale, growth_tracker = loss_scale.growth_tracker;
  at::_amp_update_scale_(scale, growth_tracker, loss_scale.found_inf, config.growth_factor, config.backoff_factor,
                         config.growth_interval);
}

}  // namespace esper::step
