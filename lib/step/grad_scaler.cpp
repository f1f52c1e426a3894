#include "step/grad_scaler.h"

namespace esper::step {

LossScale make_loss_scale(torch::ScalarType compute_type, torch::Device device) {
  LossScale result;
  if (compute_type != torch::kHalf) return result;
  const auto options = torch::dtype(torch::kFloat32).device(device);
  result.scale = at::full({}, result.policy.initial_scale, options);
  result.growth_tracker = at::zeros({}, options.dtype(torch::kInt32));
  result.found_inf = at::zeros({}, options);
  return result;
}

void append_named(const LossScale& loss_scale, std::vector<kasmina::NamedTensor>& out) {
  if (!loss_scale.enabled()) return;
  out.push_back({"scaler.scale", loss_scale.scale});
  out.push_back({"scaler.growth_tracker", loss_scale.growth_tracker});
}

void unscale(LossScale& loss_scale, const torch::Tensor& gradients) {
  loss_scale.found_inf.zero_();
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, loss_scale.found_inf, loss_scale.scale.reciprocal());
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

void update_scale(LossScale& loss_scale) {
  const LossScalePolicy& policy = loss_scale.policy;
  at::_amp_update_scale_(loss_scale.scale, loss_scale.growth_tracker, loss_scale.found_inf, policy.growth_factor,
                         policy.backoff_factor, policy.growth_interval);
}

}  // namespace esper::step
