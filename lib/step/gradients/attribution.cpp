#include "step/gradients/attribution.h"

#include <vector>

namespace esper::step {

torch::Tensor normalised_shares(const torch::Tensor& scores) {
  const torch::Tensor total = scores.sum();
  const double alike = 1.0 / static_cast<double>(scores.numel());
  return at::where(total.gt(0), scores.div(total), alike).to(torch::kFloat32);
}

torch::Tensor first_order_losses(const kasmina::SlotTaps& taps, std::span<const torch::Tensor> output_gradients) {
  std::vector<torch::Tensor> losses;
  for (std::size_t i = 0; i < taps.size(); ++i) {
    const torch::Tensor& gradient = output_gradients[i];
    losses.push_back(gradient.defined() ? gradient.mul(taps[i].change).sum(torch::kFloat32)
                                        : at::zeros({}, taps[i].change.options().dtype(torch::kFloat32)));
  }
  return at::stack(losses);
}

torch::Tensor class_shares_of(const torch::Tensor& table, const torch::Tensor& targets) {
  return table.index_select(0, targets.flatten().clamp_max(table.size(0) - 1)).mean(0);
}

}  // namespace esper::step
