#include "step/batch_statistics.h"

#include "base/error.h"
#include "device/precision.h"
#include "kasmina/tensor/layers.h"

namespace esper::step {

BatchStatistics::BatchStatistics(const kasmina::Network& network) : network_(network) {
  for (const auto& [id, tensor] : network.buffers()) {
    if (id.ends_with(".running_mean") || id.ends_with(".running_var")) statistics_.push_back(tensor);
  }
}

BatchStatistics::~BatchStatistics() {
  const at::NoGradGuard no_grad;
  kasmina::write_values(kept_);
}

void BatchStatistics::recompute(const NextInputs& next_inputs, torch::ScalarType compute_type) {
  const at::NoGradGuard no_grad;
  ESPER_CHECK(kept_.empty(), "statistics are recomputed once");
  for (const auto& [id, tensor] : network_.buffers()) kept_.emplace_back(tensor, tensor.clone());
  std::vector<torch::Tensor> sums;
  for (const auto& statistic : statistics_) sums.push_back(at::zeros_like(statistic, torch::kFloat64));
  std::int64_t batches = 0;
  for (auto inputs = next_inputs(); inputs; inputs = next_inputs(), ++batches) {
    // From zero, a forward leaves the batch's own statistics times the momentum.
    for (const auto& statistic : statistics_) statistic.zero_();
    const device::AutocastScope autocast(inputs->device().type(), compute_type);
    network_.forward(*inputs, kasmina::Mode::kTrain);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add_(statistics_[i]);
  }
  if (batches == 0) return;
  const double weight = kasmina::kBatchNormMomentum * static_cast<double>(batches);
  for (std::size_t i = 0; i < sums.size(); ++i) statistics_[i].copy_(sums[i].div_(weight));
}

}  // namespace esper::step
